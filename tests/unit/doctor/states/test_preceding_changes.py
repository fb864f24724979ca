"""Changes on the host of a state are shown where they came shortly before it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command
from gpustack.doctor.recent_changes import CLOCK_TOLERANCE, find_preceding_changes
from gpustack.doctor.states.state import AbnormalState
from tests.worlds.snapshots.answers import make_answer, place_answers
from tests.worlds.snapshots.hosts import build_snapshot

REPORT_TIME = datetime(2026, 11, 29, 18, 0, tzinfo=UTC)
SYSTEMD_UPGRADE = "apt: upgrade systemd"
# Recorded on a lab host with Kubernetes 1.36 after `kubectl annotate configmap coredns`; two of its seven objects.
WRITES = """{"items":[{"metadata":{"name":"coredns","namespace":"kube-system","managedFields":[{"manager":"kubeadm",\
"time":"2026-11-30T13:52:28Z"},{"manager":"kubectl-annotate","time":"2026-11-30T14:11:30Z"}]}},{"metadata":{\
"name":"kube-root-ca.crt","namespace":"kube-system","managedFields":[{"manager":"kube-controller-manager",\
"time":"2026-11-30T13:52:33Z"}]}}]}"""
ANNOTATED_AT = datetime(2026, 11, 30, 14, 11, 30, tzinfo=UTC)


def build_host(clock_error: int = 0) -> Snapshot:
    """Build a host on which systemd was upgraded 20 minutes ago, and nginx two days ago."""
    clock = f"== now\n{int(REPORT_TIME.timestamp()) + clock_error}\n== booted\n== files\n"
    answers = place_answers("h1", make_answer("recent.files", clock))
    answers |= place_answers("h1", make_answer("recent.packages", "1200 upgrade systemd\n172800 install nginx\n"))
    return replace(build_snapshot(answers), started_at=REPORT_TIME)


def list_changes(snapshot: Snapshot, minutes_ago: float | None) -> list[str]:
    onset = None if minutes_ago is None else REPORT_TIME - timedelta(minutes=minutes_ago)
    state = AbnormalState("unit-failed", "broken", ("h1",), ("unit a",), "", Command("true"), onset)
    return [change.description for change in find_preceding_changes(state, snapshot)]


@pytest.mark.parametrize(
    ("minutes_ago", "changes"), [(19, [SYSTEMD_UPGRADE]), (21, []), (3 * 24 * 60, []), (None, []), (-200, [])]
)
def test_only_what_came_within_an_hour_before_is_shown(minutes_ago: float | None, changes: list[str]) -> None:
    assert list_changes(build_host(), minutes_ago) == changes


def test_no_order_is_claimed_where_clocks_differ() -> None:
    assert list_changes(build_host(CLOCK_TOLERANCE + 1), 19) == []


def list_cluster_changes(seconds: int, clock_error: int = 0) -> list[str]:
    """List the changes before a state of the cluster that began some seconds after the annotation."""
    onset, report_time = ANNOTATED_AT + timedelta(seconds=seconds), ANNOTATED_AT + timedelta(minutes=5)
    clock = f"== now\n{int(report_time.timestamp()) + clock_error}\n== booted\n== files\n"
    answers = place_answers("h1", make_answer("recent.files", clock))
    answers |= place_answers(CLUSTER, make_answer("written.system-config-maps", WRITES))
    snapshot = replace(build_snapshot(answers), started_at=report_time)
    state = AbnormalState("pod-failed", "broken", (CLUSTER,), ("pod a",), "", Command("true"), onset)
    return [
        f"{change.description}, {change.seconds_ago}"
        for change in find_preceding_changes(state, snapshot)
        if change.location == CLUSTER
    ]


ANNOTATION = "kubectl-annotate wrote ConfigMap kube-system/coredns, 300"
INSTALLATION = "kubeadm wrote ConfigMap kube-system/coredns, 1442"


@pytest.mark.parametrize(
    ("seconds", "changes"),
    [(10, [ANNOTATION, INSTALLATION]), (-10, [INSTALLATION]), (3000, [ANNOTATION]), (-2 * 3600, [])],
)
def test_writes_to_objects_within_an_hour_before_are_shown(seconds: int, changes: list[str]) -> None:
    assert list_cluster_changes(seconds) == changes


def test_no_order_of_writes_is_claimed_where_the_clock_of_a_control_plane_differs() -> None:
    assert list_cluster_changes(10, CLOCK_TOLERANCE + 1) == []
