"""Changes on a broken host within a day are shown: only what is near the fault, each with its time, nothing made up."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import Answer
from gpustack.doctor import recent_changes
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.recent_changes import find_recent_changes
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.answers import read_case

FORWARDING_OFF = read_case("kernel.sysctls", "prepared-debian-12", ("net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"))
SILENT = Answer("containerd.runtime", "h1", 1, "")
UPGRADED_PACKAGES, WRITTEN_FILES = read_case("recent.packages", "upgraded"), read_case("recent.files", "drop-in")
DROP_IN = ("h1", 120, "/etc/containerd/conf.d/00-docker.toml written, after containerd had started")


def build_diagnosis(*answers: Answer) -> Diagnosis:
    return diagnose(hosts.build_snapshot({(answer.probe, "h1"): answer for answer in answers}))


def list_changes(diagnosis: Diagnosis) -> list[tuple[str, int, str]]:
    (root,) = diagnosis.roots
    return [
        (change.location, change.seconds_ago, change.description)
        for change in find_recent_changes(root, diagnosis.snapshot)
    ]


def build_start(time: int) -> Answer:
    answer = read_case("units.services", "prepared-debian-12")
    before, _, after = answer.stdout.partition("Id=containerd.service")
    unit, end, rest = after.partition("\n\n")
    lines = [f"ActiveEnterTimestamp=@{time}" if "ActiveEnter" in line else line for line in unit.splitlines()]
    return replace(answer, stdout=f"{before}Id=containerd.service" + "\n".join(lines) + end + rest)


def test_what_is_near_the_fault_is_shown_with_its_time_and_nothing_else() -> None:
    diagnosis = build_diagnosis(SILENT, UPGRADED_PACKAGES, WRITTEN_FILES, build_start(1795239800))
    assert diagnosis.roots[0].id == "containerd-cri-disabled"
    assert list_changes(diagnosis) == [
        DROP_IN,
        ("h1", 200, "containerd started"),
        ("h1", 1240, "apt: upgrade containerd.io, runc"),
    ]


@pytest.mark.parametrize(
    ("time", "description"),
    [(1795239990, "/etc/containerd/conf.d/00-docker.toml written"), (1795000000, DROP_IN[2])],
)
def test_both_times_show_whether_the_daemon_runs_with_the_file(time: int, description: str) -> None:
    lines = list_changes(build_diagnosis(SILENT, WRITTEN_FILES, build_start(time)))
    assert ("h1", 120, description) in lines
    assert any("containerd started" in line for _, _, line in lines) is (time > 1795239000)


@pytest.mark.parametrize(
    ("path", "is_shown"),
    [("manifests/etcd.yaml", True), ("audit-policy.yaml", True), ("gpustack-storage/kustomization.yaml", False)],
)
def test_manifests_that_steps_apply_are_no_change_of_the_control_plane(path: str, *, is_shown: bool) -> None:
    answer = read_case("recent.files", "drop-in", ("/etc/containerd/conf.d/00-docker.toml", f"/etc/kubernetes/{path}"))
    snapshot = hosts.build_snapshot({(answer.probe, "h1"): answer})
    changes = recent_changes.list_changes(snapshot, "h1", [recent_changes.KUBELET])
    assert any(path in change.description for change in changes) == is_shown


def test_what_is_not_near_the_cause_is_no_change() -> None:
    """Neither a boot nor what others wrote and installed."""
    assert list_changes(build_diagnosis(FORWARDING_OFF, UPGRADED_PACKAGES, WRITTEN_FILES)) == []


def test_what_is_unknown_is_no_change() -> None:
    garbage = [read_case(probe, "garbage") for probe in ("recent.files", "recent.packages")]
    assert list_changes(build_diagnosis(FORWARDING_OFF, *garbage)) == []
    assert list_changes(build_diagnosis(FORWARDING_OFF)) == []
