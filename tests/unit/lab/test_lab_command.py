"""`gpustack lab` as typed; what it does to hosts is tested in tests/lab/test_lab_hosts.py."""

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.lab import app
from gpustack.errors import LabError
from gpustack.lab import locks, state
from gpustack.lab.state import Source
from tests.unit.lab.records import record


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which no lab is up."""
    monkeypatch.setattr(locks, "MACHINE", tmp_path)
    return tmp_path


def typed(*words: str) -> str:
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*words: str) -> LabError:
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, LabError), done.output
    return done.exception


def test_status_without_a_lab() -> None:
    assert typed("status") == "there is no lab\n"


def test_status_names_net_inventory_and_mirror(tmp_path: Path) -> None:
    state.write(record(tmp_path / "state", source=Source("http://10.77.3.1:8480", "A" * 40)))
    first, *hosts = typed("status").splitlines()
    assert first.split() == ["two", "10.77.3.0/24", f"{tmp_path}/state/inventory", "mirror", "http://10.77.3.1:8480"]
    assert [line.split() for line in hosts] == [
        ["host1", "debian-12", "10.77.3.11", "stopped"],
        ["host2", "debian-13", "10.77.3.12", "stopped"],
    ]


def test_exec_passes_words_and_status_through(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[list[str]] = []

    def run(words: list[str], *, check: bool) -> "subprocess.CompletedProcess[bytes]":
        ran.append(words)
        return subprocess.CompletedProcess(words, 3)

    state.write(record(tmp_path / "state"))
    monkeypatch.setattr("gpustack.cli.lab.subprocess.run", run)
    done = CliRunner().invoke(app, ["exec", "--name", "two", "host1", "--", "sh", "-c", "exit 3"])
    assert done.exit_code == 3
    assert ran == [["ssh", "-F", f"{tmp_path}/state/ssh_config", "host1", "--", "sh -c 'exit 3'"]]


@pytest.mark.parametrize("words", [("ssh", "host1"), ("exec", "host1", "true"), ("save", "s"), ("restore", "s")])
def test_without_a_lab(words: tuple[str, ...]) -> None:
    assert refused(*words).reference == "lab-not-up"


def test_a_mirror_is_a_directory_or_a_url_with_a_key(tmp_path: Path) -> None:
    assert refused("up", "--mirror", "http://mirror.example").reference == "lab-mirror-unknown-key"
    assert refused("up", "--mirror", str(tmp_path / "none")).reference == "lab-mirror-missing"
