"""The script of evictions, and the refusals that a real API server gave."""

import pytest

from gpustack.nodes.eviction import build_eviction_script, parse_refusals
from gpustack.probes.kubernetes.node_pods import NODE_PODS
from tests.worlds.programs.node_kubectl import BUDGET, MISSING, OTHER_UID
from tests.worlds.snapshots.answers import read_case


def test_a_refusal_of_a_budget_is_one() -> None:
    reason = "(TooManyRequests): Cannot evict pod as it would violate the pod's disruption budget."
    assert parse_refusals(f"team-a/web\t{BUDGET}\n") == {"team-a/web": reason}


@pytest.mark.parametrize("refusal", [MISSING.format("web"), OTHER_UID.format("web", "1", "2")])
def test_a_pod_that_is_gone_was_not_refused(refusal: str) -> None:
    assert parse_refusals(f"team-a/web\t{refusal}\n") == {}


def test_a_line_of_another_shape_is_no_refusal() -> None:
    with pytest.raises(ValueError, match="unpack"):
        parse_refusals("what is this\n")


def test_each_eviction_is_of_the_pod_that_was_shown() -> None:
    pods = NODE_PODS.extract_fact(read_case(NODE_PODS.id, "two-teams"))
    script = build_eviction_script(pods)
    assert all(pod.uid in script for pod in pods)
    assert script.count("/eviction") == len(pods)
