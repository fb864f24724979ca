"""Answers of ansible-inventory by the text of a file: it takes a second to start, and most tests name one host."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpustack.config.ansible import inventory_listing

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
