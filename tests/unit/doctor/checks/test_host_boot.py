"""Modules now and after a boot, and what the kernel refuses."""

import pytest

from tests.unit.doctor.checks.evaluation import judge_host, summarize
from tests.worlds.snapshots.answers import make_answer, read_case

KERNEL_TEXT = "== kernel\n6.1.0-40-amd64 whole\n== others\n== named\noverlay\nbr_netfilter\n== builtin\n"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        (KERNEL_TEXT, "ok"),
        (KERNEL_TEXT.replace("br_netfilter\n", ""), "failed"),
        (KERNEL_TEXT.replace("overlay\nbr_netfilter\n== builtin\n", "== builtin\noverlay\nbr_netfilter\n"), "ok"),
        ("== kernel\n", "unknown"),
    ],
)
def test_modules_that_no_boot_loads_fail(output: str, outcome: str) -> None:
    assert (
        judge_host("host-modules-not-persisted", {"kernel.boot": make_answer("kernel.boot", output)}).outcome == outcome
    )


def test_a_host_without_a_runtime_needs_no_modules() -> None:
    answers = {"kernel.boot": make_answer("kernel.boot", KERNEL_TEXT.replace("br_netfilter\n", ""))}
    assert summarize(judge_host("host-modules-not-persisted", answers, state="fresh"))[1] == "no container runtime yet"


@pytest.mark.parametrize(
    ("folder", "kernels", "outcome"),
    [
        ("whole", "6.1.0-41-amd64\n", "ok"),
        ("none", "6.1.0-41-amd64\n", "failed"),
        ("empty", "", "failed"),
        ("none", "", "ok"),
    ],
)
def test_a_kernel_without_its_modules_fails(folder: str, kernels: str, outcome: str) -> None:
    stdout = KERNEL_TEXT.replace("whole\n== others\n", f"{folder}\n== others\n{kernels}")
    assert (
        judge_host("host-reboot-pending-kernel", {"kernel.boot": make_answer("kernel.boot", stdout)}).outcome == outcome
    )


@pytest.mark.parametrize(
    ("output", "outcome"), [("128\n60\n0\n", "ok"), ("128\n60\n1\n", "failed"), ("128\n", "unknown")]
)
def test_inotify_is_asked_and_not_counted(output: str, outcome: str) -> None:
    assert (
        judge_host("host-inotify-exhausted", {"kernel.inotify": make_answer("kernel.inotify", output)}).outcome
        == outcome
    )


@pytest.mark.parametrize(
    ("case", "outcome"),
    [("control-plane", "ok"), ("runc", "failed"), ("others", "ok"), ("old", "ok")],
)
def test_signals_that_apparmor_denies_fail(case: str, outcome: str) -> None:
    answers = {"kernel.denials": read_case("kernel.denials", case)}
    assert judge_host("host-apparmor-runc-signal", answers).outcome == outcome
