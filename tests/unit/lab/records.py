"""A record for tests, of a lab that was never made."""

from pathlib import Path

from gpustack_lab.lab.state import Address, Host, Record, Source

HOSTS = (Host("host1", "debian-12", "10.77.3.11"), Host("host2", "debian-13", "10.77.3.12"))


def record(state: Path, *, addresses: int = 0, source: Source | None = None) -> Record:
    extra = tuple(Address(f"n{i + 1:02}", HOSTS[i % 2].name, f"10.77.3.{100 + i}") for i in range(addresses))
    return Record("two", "10.77.3", state, state / "pool", "boot", HOSTS, extra, source)
