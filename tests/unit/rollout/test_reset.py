"""The reset: it plays what was shown, asks again, and only the second answer counts."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command
from gpustack.events import ignore_event
from gpustack.rollout.overlay import build_overlay
from gpustack.rollout.plan import PlaybookRun, TaskFailure
from gpustack.rollout.removal import judge_removal
from gpustack.rollout.reset import ResetOutcome, reset
from tests.worlds.snapshots.reset_hosts import (
    CA,
    PLANE,
    WORKER,
    build_node,
    build_nodes,
    build_snapshot,
    render_machine_id,
    render_records,
)

BEFORE = build_snapshot({"k1": PLANE, "k2": WORKER}, build_nodes(build_node("k1"), build_node("k2")))


def run(
    after: Snapshot, names: Sequence[str] = (), fails: Sequence[str] = (), cancelled: bool = False
) -> tuple[ResetOutcome, dict[str, Any]]:
    values: dict[str, Any] = {}

    def play(hosts: Sequence[str], variables: Mapping[str, Mapping[str, Any]]) -> PlaybookRun:
        values.update(hosts=list(hosts), more=variables)
        failures = tuple(TaskFailure(host, "Ensure it", "x.yml:1", "no") for host in fails)
        return PlaybookRun(
            "reset", tuple(hosts), tuple(hosts), tuple(fails), failures, 1.0, Command("ansible-playbook")
        )

    outcome = reset(
        judge_removal(BEFORE, names),
        names,
        lambda: after,
        play,
        ignore_event,
        packages=False,
        find_stop_reason=lambda: "interrupted" if cancelled else "",
    )
    return outcome, values


def test_only_hosts_with_something_are_played_with_what_was_shown() -> None:
    outcome, values = run(build_snapshot(), ["k2", "k3"])
    assert values["hosts"] == ["k2"]
    assert values["more"]["k2"]["gpustack_reset"] == {
        "node": "k2", "drain": True, "packages": [], "holds": [], "pod_cidr": "10.244.0.0/16",
        "agreed": {"/etc/kubernetes/kubelet.conf": {"action": "remove", "kind": "data", "state": f"present of {CA}"}},
        "cluster": True, "kubelet": True, "edited": [],
    }  # fmt: skip
    assert (outcome.incomplete_hosts, outcome.unknown, outcome.exit_status) == ((), (), 0)


def test_what_is_found_again_is_left() -> None:
    links = render_records(("/sys/class/net/cni0", "link"), cluster="")
    outcome, _ = run(build_snapshot({"k2": {"owned.flannel": "link cni0\n", "owned.records": links}}))
    assert [host_removal.host for host_removal in outcome.incomplete_hosts] == ["k2"]
    assert outcome.exit_status == 6


def test_a_node_that_is_still_there_is_left() -> None:
    outcome, _ = run(build_snapshot({"k1": PLANE}, build_nodes(build_node("k1"), build_node("k2"))), ["k2"])
    assert [host_removal.node for host_removal in outcome.incomplete_hosts] == ["k2"]


@pytest.mark.parametrize(
    ("after", "fails", "cancelled", "code"),
    [
        (build_snapshot(), ["k1"], False, 5),
        (build_snapshot({"k1": PLANE}), [], True, 130),
        (build_snapshot(unreached_hosts=("k2",)), [], False, 8),
        (build_snapshot({"k1": {"owned.packages": "broken"}}), [], False, 8),
    ],
    ids=["a task failed", "interrupted", "a host is gone", "no answer"],
)
def test_a_reset_ends_with_its_outcome(after: Snapshot, fails: list[str], cancelled: bool, code: int) -> None:
    assert run(after, (), fails, cancelled)[0].exit_status == code


def test_interrupted_before_the_play_plays_nothing() -> None:
    outcome, values = run(build_snapshot({"k1": PLANE}), cancelled=True)
    assert (values, outcome.playbook_run, outcome.stop_reason) == ({}, None, "interrupted")


def test_a_host_that_is_partly_unknown_is_in_the_overlay_too() -> None:
    """A reset needs no address and no release of a host."""
    snapshot = build_snapshot({"k2": {"network.address": "", "system.os": ""}})
    hosts = build_overlay(snapshot, {"k2": {"gpustack_reset": {"node": ""}}})["all"]["hosts"]
    assert hosts["k2"] == {"gpustack_machine_id": render_machine_id("k2"), "gpustack_reset": {"node": ""}}
    assert "gpustack" in hosts["k1"]
