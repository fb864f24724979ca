"""Leases of the control plane that nobody renews, as one that a stranger keeps (kubernetes/kubernetes#82960)."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import build_healthy, list_states
from tests.worlds.snapshots.answers import read_case

PROBE = "kube.leader-leases"
RENEWAL = "2026-11-30T14:38:04.936684Z"
HOLDER = "host1_7105561b-dc5f-4e76-8f1f-36fbd189b99a"


def list_lease_states(*edits: tuple[str, str]) -> list[AbnormalState]:
    healthy = build_healthy()
    answer = replace(read_case(PROBE, "usual", *edits), location=CLUSTER)
    return list_states(
        diagnose(replace(healthy, answers={**healthy.answers, (PROBE, CLUSTER): answer})), "lease-not-renewed"
    )


def test_a_lease_that_a_stranger_keeps_is_broken_with_its_name() -> None:
    (state,) = list_lease_states((RENEWAL, "2026-11-30T14:36:04.000000Z"), (HOLDER, "old-master_7d1f"))
    assert (state.severity, state.subjects) == ("broken", ("lease kube-system/kube-controller-manager",))
    assert state.message == (
        "its holder old-master_7d1f has not renewed it for 120 s, and others wait 15 s from its last renewal: no pod "
        "of a Deployment, DaemonSet or Job is made, and no lost node is noticed"
    )
    assert state.onset is not None


def test_a_lease_without_a_holder_is_broken() -> None:
    (state,) = list_lease_states((RENEWAL, "2026-11-30T14:36:04.000000Z"), (HOLDER, ""))
    assert state.message.startswith("it has had no holder for 120 s: no pod of a Deployment")


@pytest.mark.parametrize("renewal", [RENEWAL, "2026-11-30T14:37:30.000000Z"], ids=["renewed", "while-one-restarts"])
def test_a_lease_that_was_renewed_a_moment_ago_is_no_state(renewal: str) -> None:
    assert list_lease_states((RENEWAL, renewal)) == []
