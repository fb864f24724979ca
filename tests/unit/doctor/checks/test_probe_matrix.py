"""The table that was measured in network namespaces: which connections work under which fault; and what is found."""

from pathlib import Path

import pytest
import yaml

from gpustack.ask.probe import Answer
from tests.unit.doctor.checks.evaluation import evaluate
from tests.unit.doctor.checks.pod_paths import make_paths
from tests.worlds.snapshots import cluster

MATRIX = yaml.safe_load((Path(__file__).parents[1] / "probe_matrix.yaml").read_text())
FROM_PODS, VXLAN = MATRIX["api_from_pods"]["rows"], MATRIX["vxlan"]["rows"]


def take_first(cell: str) -> str:
    """Take the first of two words of a cell."""
    return cell.split(" ", maxsplit=1)[0]


def judge_outcomes(answer: Answer, *ids: str) -> list[str]:
    snapshot = cluster.build_snapshot({("pod-network.paths", "k1"): answer})
    return [evaluate(id, snapshot, "k1").outcome for id in ids]


def list_expected(*confirmed: bool) -> list[str]:
    return ["failed" if is_confirmed else "ok" for is_confirmed in confirmed]


def test_the_table_is_read() -> None:
    assert (len(FROM_PODS), len(VXLAN)) == (15, 15)


@pytest.mark.parametrize("row", FROM_PODS, ids=[f"{row[0]}, {row[1]}" for row in FROM_PODS])
def test_the_api_is_judged_from_hosts_and_pods(row: list[str]) -> None:
    p1, p2, p3, p4 = (take_first(cell) for cell in row[2:6])
    answer = make_paths({"api": p1, "service": p2}, {"api": p3, "service": p4})
    assert judge_outcomes(answer, "st-api-from-pods-timeout") == list_expected(p4 != "ok")


@pytest.mark.parametrize("row", VXLAN, ids=[str(row[0]) for row in VXLAN])
def test_pods_of_other_nodes_are_judged_by_packet_size(row: list[str]) -> None:
    """The probes go to the pod, small and large, and to the other node's bridge."""
    small, large, bridge = (take_first(cell) for cell in row[2:5])
    lost_paths = {"pod": small, "pod-echo": small, "pod-large": large, "bridge": bridge, "bridge-large": large}
    judgements = judge_outcomes(make_paths(lost_paths, lost_paths), "st-pod-net-broken", "mtu-too-large")
    assert judgements == list_expected((small, large) != ("ok", "ok"), small == "ok" and large != "ok")
