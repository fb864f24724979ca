"""Names under which `gpustack serve` answers. A page in a browser can reach a local address under a name of its own
site (DNS rebinding) and would read the values; a numeric address cannot be rebound."""

from collections.abc import Collection, Sequence
from ipaddress import ip_address

LOCAL = "localhost"


def is_allowed(headers: Sequence[str], names: Collection[str]) -> bool:
    """Tell whether a request may be answered. `headers` are its Host headers: a browser always sends one, and nobody
    sends two."""
    return not headers or (len(headers) == 1 and is_answered(read_host(headers[0]), names))


def is_answered(host: str, names: Collection[str]) -> bool:
    return host == LOCAL or host in names or is_address(host)


def read_host(header: str) -> str:
    """Return the name or address of a Host header, without its port, as names are compared."""
    host, colon, port = header.strip().rpartition(":")
    if not colon or header.strip().endswith("]") or not (port.isascii() and port.isdigit()):
        host = header.strip()
    return normalize_name(host.removeprefix("[").removesuffix("]"))


def normalize_name(name: str) -> str:
    return name.strip().lower().removesuffix(".")


def is_address(host: str) -> bool:
    """Tell whether a host is an address in numbers alone: ip_address() takes any text for the zone behind a %."""
    if "%" in host:
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
