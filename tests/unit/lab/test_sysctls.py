from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack_lab.lab import capabilities, locks, sysctls


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


def test_limits_are_raised_and_restored(proc: Path) -> None:
    before = {path: path.read_text() for path in proc.rglob("*") if path.is_file()}
    sysctls.raise_limits()
    assert (proc / "net/ipv4/ip_forward").read_text() == "1"
    assert (proc / "fs/inotify/max_user_watches").read_text() == "9999999\n"
    (proc / "kernel/panic").write_text("10\n")  # as the kubelet does
    sysctls.raise_limits()  # a second lab
    sysctls.restore()
    assert {path: path.read_text() for path in proc.rglob("*") if path.is_file()} == before


def test_without_a_record_nothing_is_restored(proc: Path) -> None:
    sysctls.restore()
    assert (proc / "kernel/panic").read_text() == "1\n"


def test_a_module_that_was_loaded_for_a_lab_does_not_filter_the_machine_s_bridges(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine with virtual machines on a bridge. Loaded, br_netfilter filters what they say to each other."""

    def load(argv: list[str], **_: object) -> None:
        if argv[0] == "modprobe":
            for name in sysctls.BRIDGES:
                (proc / name).parent.mkdir(parents=True, exist_ok=True)
                (proc / name).write_text("1\n")

    require_capabilities(monkeypatch, load)
    assert {(proc / name).read_text() for name in sysctls.BRIDGES} == {"0\n"}
    sysctls.raise_limits()
    (proc / sysctls.BRIDGES[0]).write_text("1\n")  # as a host does where the kernel has one setting for all
    sysctls.restore()
    assert {(proc / name).read_text() for name in sysctls.BRIDGES} == {"0\n"}


def test_a_machine_that_has_the_module_keeps_what_it_set(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(sysctls.BRIDGES, ("1\n", "1\n", "0\n"), strict=True):
        (proc / name).parent.mkdir(parents=True, exist_ok=True)
        (proc / name).write_text(value)
    require_capabilities(monkeypatch, lambda argv, **_: None)
    assert [(proc / name).read_text() for name in sysctls.BRIDGES] == ["1\n", "1\n", "0\n"]


def require_capabilities(monkeypatch: pytest.MonkeyPatch, attempt: Callable[..., None]) -> None:
    monkeypatch.setattr(capabilities, "refuse", lambda *_, **__: None)
    monkeypatch.setattr(capabilities, "detect_features", lambda **_: {})
    monkeypatch.setattr(capabilities, "MODULES_FILE", Path("/proc"))
    monkeypatch.setattr(capabilities, "try_run", attempt)
    capabilities.require()
