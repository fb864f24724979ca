"""The disk, and pods that were thrown out for its sake."""

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import judge_cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

WELL = read_case("storage.disk", "control-plane").stdout
PRESSED_NODE = read_case(
    "kube.pressures", "control-plane", ("host1", "k1"), ("host2", "k2"),
    ('"DiskPressure","status":"False"', '"DiskPressure","status":"True"'),
)  # fmt: skip


def build_disk(room: str, mounts: str = "/var rw\n", errors: str = "") -> dict[tuple[str, str], Answer]:
    stdout = f"== room\n/var/lib/kubelet {room}\n== mounts\n{mounts}== errors\n{errors}"
    return place_answers("k1", make_answer("storage.disk", stdout))


@pytest.mark.parametrize(
    ("room", "api", "outcome"),
    [
        ("1000 870 0 0", {}, "ok"),
        ("1000 30 1000 900", {}, "failed"),
        ("1000 900 1000 10", {}, "failed"),
        ("1000 100 1000 900", {}, "unknown"),
        ("1000 100 1000 900", {("kube.pressures", CLUSTER): PRESSED_NODE}, "failed"),
        ("1000 much 1000 900", {}, "unknown"),
    ],
)
def test_a_full_disk_fails(room: str, api: dict[tuple[str, str], Answer], outcome: str) -> None:
    """Between full and free, the node's own word decides."""
    assert judge_cluster("host-disk-pressure", build_disk(room) | api)[0] == outcome


def test_the_room_of_a_disk_says_what_is_free() -> None:
    disk = build_disk("1000 870 1000 900")
    assert judge_cluster("host-disk-pressure", disk) == ("ok", "/var/lib/kubelet has 87 % and 90 % free")


def test_a_read_only_or_broken_disk_fails() -> None:
    assert judge_cluster("host-root-readonly-or-io-errors", {}) == ("ok", "no errors")
    judgement = judge_cluster(
        "host-root-readonly-or-io-errors", build_disk("10 9 0 0", "/var rw\n/var/lib/kubelet ro\n")
    )
    assert judgement == ("failed", "/var/lib/kubelet is read-only")
    disk = build_disk("10 9 0 0", errors="| I/O error, dev sda, sector 81920 op 0x1:(WRITE)\n")
    assert judge_cluster("host-root-readonly-or-io-errors", disk)[0] == "failed"


@pytest.mark.parametrize(("mounts", "outcome"), [("/var rw\n", "ok"), ("/var rw\n/var/lib/containerd ro\n", "failed")])
def test_containerd_ends_where_it_cannot_write(mounts: str, outcome: str) -> None:
    errors = "| I/O error, dev sda, sector 81920 op 0x1:(WRITE)\n"
    disk = build_disk("10 9 0 0", mounts, errors)
    assert judge_cluster("host-root-readonly-or-io-errors -> st-runtime-down", disk)[0] == outcome


@pytest.mark.parametrize(
    ("case", "eviction", "prometheus"),
    [
        ("control-plane", "ok", "ok"),
        ("prometheus", "failed", "failed"),
        ("own-limit", "ok", "ok"),
        ("long-ago", "ok", "ok"),
        ("refused", "unknown", "unknown"),
    ],
)
def test_evictions_are_reported(case: str, eviction: str, prometheus: str) -> None:
    answers = place_answers(CLUSTER, read_case("kube.evicted-pods", case))
    assert judge_cluster("st-evictions", answers)[0] == eviction
    assert judge_cluster("st-evictions -> st-no-metrics", answers)[0] == prometheus
