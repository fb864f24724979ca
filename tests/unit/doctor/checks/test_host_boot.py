"""Modules now and after a boot, and what the kernel refuses."""

import pytest

from tests.worlds.cases import recorded, written
from tests.worlds.doctor_checks import on_host, told

HERE = "== kernel\n6.1.0-40-amd64 whole\n== others\n== named\noverlay\nbr_netfilter\n== builtin\n"


@pytest.mark.parametrize(
    ("out", "outcome"),
    [
        (HERE, "ok"),
        (HERE.replace("br_netfilter\n", ""), "failed"),
        (HERE.replace("overlay\nbr_netfilter\n== builtin\n", "== builtin\noverlay\nbr_netfilter\n"), "ok"),
        ("== kernel\n", "unknown"),
    ],
)
def test_modules_that_no_boot_loads(out: str, outcome: str) -> None:
    assert on_host("host-modules-not-persisted", {"kernel.boot": written("kernel.boot", out)}).outcome == outcome


def test_a_host_without_a_runtime_needs_no_modules() -> None:
    answers = {"kernel.boot": written("kernel.boot", HERE.replace("br_netfilter\n", ""))}
    assert told(on_host("host-modules-not-persisted", answers, state="fresh"))[1] == "no runtime is installed yet"


@pytest.mark.parametrize(
    ("folder", "others", "outcome"),
    [
        ("whole", "6.1.0-41-amd64\n", "ok"),
        ("none", "6.1.0-41-amd64\n", "failed"),
        ("empty", "", "failed"),
        ("none", "", "ok"),
    ],
)
def test_a_kernel_whose_modules_are_gone(folder: str, others: str, outcome: str) -> None:
    out = HERE.replace("whole\n== others\n", f"{folder}\n== others\n{others}")
    assert on_host("host-reboot-pending-kernel", {"kernel.boot": written("kernel.boot", out)}).outcome == outcome


@pytest.mark.parametrize(("out", "outcome"), [("128\n60\n0\n", "ok"), ("128\n60\n1\n", "failed"), ("128\n", "unknown")])
def test_inotify_is_asked_and_not_counted(out: str, outcome: str) -> None:
    assert on_host("host-inotify-exhausted", {"kernel.inotify": written("kernel.inotify", out)}).outcome == outcome


@pytest.mark.parametrize(
    ("case", "outcome"),
    [("control-plane", "ok"), ("runc", "failed"), ("others", "ok"), ("old", "ok")],
)
def test_signals_that_apparmor_denies(case: str, outcome: str) -> None:
    answers = {"kernel.denials": recorded("kernel.denials", case)}
    assert on_host("host-apparmor-runc-signal", answers).outcome == outcome
