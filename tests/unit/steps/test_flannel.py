import json
from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.steps.flannel import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import judge
from tests.worlds.snapshots.judge import list_failures

DAEMON_SET, NET_CONF, HOST = "flannel.daemon-set", "flannel.net-conf", "flannel.host"


def test_before_flannel_is_there_all_is_for_install() -> None:
    answers = {
        (probe, CLUSTER): read_case(probe, "before-network") for probe in (DAEMON_SET, NET_CONF, "kube.deployments")
    }
    answers[HOST, "k1"] = read_case(HOST, "before-network")
    failures = list_failures(judge(STEP, answers))
    assert set(failures) == {"version", "settings", "rolled-out", "running", "dns"}
    assert {cure for _, cure in failures.values()} == {"install"}


def test_another_version_is_for_upgrade() -> None:
    answers = place_answers(CLUSTER, read_case(DAEMON_SET, "control-plane", ("flannel:v0.28.9", "flannel:v0.27.0")))
    assert list_failures(judge(STEP, answers)) == {"version": ("0.27.0", "upgrade")}


@pytest.mark.parametrize(
    ("spec", "actual"),
    [
        ({"flannel": {"backend": "host-gw"}}, "10.244.0.0/16 over vxlan on port 8472"),
        ({"flannel": {"port": 4789}}, "10.244.0.0/16 over vxlan on port 8472"),
    ],
)
def test_another_backend_is_for_install(spec: dict[str, object], actual: str) -> None:
    assert list_failures(judge(STEP, spec=spec)) == {"settings": (actual, "install")}


def test_without_a_port_it_is_that_of_linux() -> None:
    """Backend vxlan on Linux: Documentation/backends.md says 8472."""
    answers = place_answers(CLUSTER, read_case(NET_CONF, "control-plane", ('\\"Port\\": 8472, ', "")))
    assert list_failures(judge(STEP, answers)) == {}


def test_another_pod_network_is_for_install() -> None:
    """Mistake 10 of the usual scripts: the manifest's own 10.244.0.0/16 whatever kubeadm was given."""
    failures = list_failures(judge(STEP, spec={"kubernetes": {"version": "1.36.4", "pod_cidr": "10.32.0.0/16"}}))
    assert failures == {
        "settings": ("10.244.0.0/16 over vxlan on port 8472", "install"),
        "running": ("10.244.0.0/16", "install"),
    }


@pytest.mark.parametrize(
    "edit",
    [
        ('"observedGeneration":1', '"observedGeneration":0'),
        ('"updatedNumberScheduled":2', '"updatedNumberScheduled":1'),
    ],
)
def test_pods_of_an_older_template_are_for_install(edit: tuple[str, str]) -> None:
    answers = place_answers(CLUSTER, read_case(DAEMON_SET, "control-plane", edit))
    assert list_failures(judge(STEP, answers)) == {"rolled-out": ("some with an older template", "install")}


def test_a_daemon_that_does_not_answer_is_for_install() -> None:
    answers = place_answers("k1", read_case(HOST, "control-plane", ("READY=yes", "READY=no")))
    assert list_failures(judge(STEP, answers)) == {"running": ("not ready", "install")}
    answers = place_answers("k1", read_case(HOST, "control-plane", ("CONFLIST=yes", "CONFLIST=no")))
    assert list_failures(judge(STEP, answers)) == {"running": ("no CNI configuration", "install")}


def test_dns_without_a_pod_is_for_the_operator() -> None:
    """The API calls a Deployment of no replicas available."""
    answers = place_answers(CLUSTER, read_case("kube.deployments", "control-plane", ('"replicas":2', '"replicas":0')))
    assert list_failures(judge(STEP, answers)) == {"dns": ("scaled to 0", "operator")}


def test_a_dead_worker_is_not_flannels_matter() -> None:
    """Else nobody could add a host while another one is down."""
    answers = place_answers(
        CLUSTER,
        read_case("kube.nodes", "control-plane", ("10.244.1.0/24", "")),
        read_case(DAEMON_SET, "control-plane", ('"numberReady":2', '"numberReady":1')),
    )
    assert list_failures(judge(STEP, answers)) == {}


def test_a_node_that_is_not_ready_says_why() -> None:
    answers = place_answers(CLUSTER, read_case("kube.nodes", "before-network"))
    answers["system.identity", "k1"] = make_answer("system.identity", "004cb8e4e83e464aa0dbda7ee7552aaa\n\n")
    mismatch = judge(STEP, answers)["node"].result
    assert mismatch
    assert "cni plugin not initialized" in mismatch.actual


def test_a_node_without_a_range_is_for_the_operator() -> None:
    answers = place_answers(CLUSTER, read_case("kube.nodes", "control-plane", ("10.244.0.0/24", "")))
    assert list_failures(judge(STEP, answers)) == {"node": ("none", "operator")}


def test_dns_whose_pods_are_refused_has_the_reason() -> None:
    quota = 'pods "coredns-1" is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0'
    failure = {"type": "ReplicaFailure", "status": "True", "message": quota}
    answer = read_case(
        "kube.deployments", "control-plane", ('"Available","status":"True"', '"Available","status":"False"')
    )
    loads = json.loads(answer.stdout)
    loads["items"][0]["status"]["conditions"].append(failure)
    answers = {("kube.deployments", CLUSTER): replace(answer, stdout=json.dumps(loads))}
    assert list_failures(judge(STEP, answers)) == {"dns": (f"not available: {quota}", "install")}
