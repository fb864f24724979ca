"""DNS of the cluster: CoreDNS without replicas, and more name servers than resolv.conf(5) allows."""

import json

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import judge_cluster
from tests.worlds.snapshots.answers import make_answer, read_case


@pytest.mark.parametrize(("replicas", "expected"), [(2, ("ok", "2 replicas")), (0, ("failed", "0"))])
def test_coredns_without_replicas_is_a_fault(replicas: int, expected: tuple[str, str]) -> None:
    deployments = json.loads(read_case("kube.deployments", "control-plane").stdout)
    (coredns,) = (item for item in deployments["items"] if item["metadata"]["name"] == "coredns")
    coredns["spec"]["replicas"] = replicas
    answer = make_answer("kube.deployments", json.dumps(deployments))
    assert judge_cluster("coredns-scaled-to-nothing", {("kube.deployments", CLUSTER): answer}, CLUSTER) == expected


@pytest.mark.parametrize(("case", "outcome"), [("worker", "ok"), ("four", "failed"), ("garbled", "unknown")])
def test_a_fourth_name_server_is_a_fault(case: str, outcome: str) -> None:
    answer = read_case("nameservers.pods", case)
    assert judge_cluster("dns-nameserver-limit", {("nameservers.pods", "k1"): answer})[0] == outcome
