from pathlib import Path

import pytest

from gpustack.lab import locks, sysctls


@pytest.fixture
def proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with ip_forward off, plenty of inotify watches, and none of the other settings."""
    proc = tmp_path / "sys"
    for name, value in {
        "net/ipv4/ip_forward": "0\n",
        "fs/inotify/max_user_instances": "128\n",
        "fs/inotify/max_user_watches": "9999999\n",
        "kernel/panic": "1\n",
    }.items():
        (proc / name).parent.mkdir(parents=True, exist_ok=True)
        (proc / name).write_text(value)
    monkeypatch.setattr(sysctls, "PROC", proc)
    monkeypatch.setattr(locks, "MACHINE", tmp_path)
    return proc


def test_raised_and_put_back(proc: Path) -> None:
    before = {path: path.read_text() for path in proc.rglob("*") if path.is_file()}
    sysctls.raise_limits()
    assert (proc / "net/ipv4/ip_forward").read_text() == "1"
    assert (proc / "fs/inotify/max_user_watches").read_text() == "9999999\n"
    (proc / "kernel/panic").write_text("10\n")  # as the kubelet does
    sysctls.raise_limits()  # a second lab
    sysctls.restore()
    assert {path: path.read_text() for path in proc.rglob("*") if path.is_file()} == before


def test_nothing_recorded_nothing_restored(proc: Path) -> None:
    sysctls.restore()
    assert (proc / "kernel/panic").read_text() == "1\n"
