"""Answers of ansible-inventory by the text of a file, as it takes a second to start, and nodes in place of hosts."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpustack.cli import session
from gpustack.config.ansible import inventory_listing
from gpustack.nodes import drain, drain_plan, node_reboot, reboot_plan
from gpustack.rollout import evidence
from gpustack.rollout import run as locked_run
from gpustack.rollout.lease import Places
from tests.worlds.programs.node_api import NodeApi

Answer = tuple[str, str]


@pytest.fixture(scope="session")
def listings() -> dict[bytes, Answer]:
    """Answers of ansible-inventory by the text of the file."""
    return {}


@pytest.fixture
def shared_listings(monkeypatch: pytest.MonkeyPatch, listings: dict[bytes, Answer]) -> None:
    """Start ansible-inventory once for each text of an inventory that is a file and that it can read."""

    def start(command: tuple[str, ...], **options: Any) -> Any:
        source = Path(command[command.index("-i") + 1])
        if not source.is_file():
            return subprocess.Popen(command, **options)
        text = source.suffix.encode() + source.read_bytes()
        if text not in listings:
            process = subprocess.run(
                command, capture_output=True, text=True, env=options["env"], timeout=60, check=False
            )
            if process.returncode:
                return subprocess.Popen(command, **options)
            listings[text] = process.stdout, process.stderr
        return SimpleNamespace(returncode=0, communicate=lambda **_: listings[text])

    stand_in = SimpleNamespace(PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired, Popen=start)
    monkeypatch.setattr(inventory_listing, "subprocess", stand_in)


@pytest.fixture
def node_api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> NodeApi:
    """Nodes with recorded pods and a kubectl that changes them, in place of hosts."""
    api, folders = NodeApi(tmp_path), count()

    @contextmanager
    def hold_locks(places: Places, doing: str, **_: Any) -> Iterator[SimpleNamespace]:
        locked_hosts = {host.name for host in (*places.first_hosts, *places.other_hosts)}

        def require(names: Sequence[str]) -> None:
            assert locked_hosts >= set(names)

        yield SimpleNamespace(loss_reason="", run="", expiry=inf, holder="ann", require=require)

    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: api.gather().inventory)
    for module in (drain_plan, reboot_plan):
        monkeypatch.setattr(module, "gather", api.gather)
    for module in (drain, node_reboot):
        monkeypatch.setattr(module, "PAUSE", 0.01)
    monkeypatch.setattr(locked_run, "hold_locks", hold_locks)
    monkeypatch.setattr(locked_run, "run_script", api.execute)
    monkeypatch.setattr(evidence, "locate_runs", lambda: tmp_path / f"runs-{next(folders)}")
    return api
