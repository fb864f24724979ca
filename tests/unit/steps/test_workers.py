from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.redact.redact import redact
from gpustack.config.host import HostSpec
from gpustack.steps.workers import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import ABSENT, K1, K2, STOPPED_UNIT, build_units, judge
from tests.worlds.snapshots.judge import list_failures

FILES = "kubeadm.files"
LOST_IDENTITY = place_answers("k2", make_answer("system.identity", "f" * 32 + "\n\n"))


def test_a_fresh_host_joins() -> None:
    answers = LOST_IDENTITY | {
        (FILES, "k2"): read_case(FILES, "prepared"),
        ("kubelet.health", "k2"): read_case("kubelet.health", "prepared"),
        ("units.services", "k2"): build_units(STOPPED_UNIT),
    }
    failures = list_failures(judge(STEP, answers))
    assert failures["node-joined"] == ("nothing", "install")
    assert failures["node"] == ("no node with this host's machine-id", "install")
    assert {cure for _, cure in failures.values()} == {"install"}


def test_a_broken_off_join_is_done_again() -> None:
    failures = list_failures(judge(STEP, LOST_IDENTITY | place_answers("k2", read_case(FILES, "broken-off-join"))))
    assert failures["node-joined"] == ("an interrupted join", "install")
    assert failures["leftovers"] == ("/etc/kubernetes/bootstrap-kubelet.conf", "install")


@pytest.mark.parametrize("case", ["worker", "broken-off-join"])
def test_a_host_of_another_cluster_is_left_alone(case: str) -> None:
    answers = place_answers("k2", read_case(FILES, case, ("https://10.78.0.11:6443", "https://192.0.2.9:6443")))
    assert list_failures(judge(STEP, answers))["node-joined"] == ("https://192.0.2.9:6443", "operator")


@pytest.mark.parametrize("endpoint", ["kube.example.com:6443", "192.0.2.9:6443"])
def test_a_wrong_endpoint_in_the_spec_takes_no_host_out_of_its_cluster(endpoint: str) -> None:
    result = judge(STEP, spec={"kubernetes": {"version": "1.36.4", "endpoint": endpoint}})["node-joined"].result
    assert result
    assert (result.expected, result.cure) == (f"https://{endpoint}", "operator")
    assert "correct gpustack.kubernetes" in result.hint
    assert "reset" not in result.hint


def test_a_host_of_another_cluster_is_taken_out_by_reset() -> None:
    foreign_host = place_answers(
        "k2", read_case(FILES, "worker", ("https://10.78.0.11:6443", "https://192.0.2.9:6443"))
    )
    no_settings = {("kubeadm.settings", CLUSTER): make_answer("kubeadm.settings", "", 1)}
    for answers in ({}, no_settings):
        result = judge(STEP, foreign_host | answers)["node-joined"].result
        assert result
        assert "reset -i hosts.yml --limit k2 --foreign" in result.hint


def test_a_control_plane_is_not_made_a_worker() -> None:
    assert (
        list_failures(judge(STEP, place_answers("k2", read_case(FILES, "control-plane"))))["node-joined"][1]
        == "operator"
    )


def test_a_node_that_was_deleted_is_for_a_person() -> None:
    mismatch = judge(STEP, LOST_IDENTITY)["node"].result
    assert mismatch
    assert mismatch.cure == "operator"
    assert "restart kubelet" in mismatch.hint


def test_a_node_that_is_not_ready_says_why() -> None:
    ready = '{"type":"Ready","status":"True","message":"kubelet is posting ready status"}'
    unknown = '{"type":"Ready","status":"Unknown","message":"Kubelet stopped posting node status."}'
    answers = place_answers(CLUSTER, read_case("kube.nodes", "control-plane", (ready, unknown)))
    assert list_failures(judge(STEP, answers)) == {"node": ("Kubelet stopped posting node status.", "install")}


def test_another_version_is_for_upgrade() -> None:
    answers = place_answers(CLUSTER, read_case("kube.nodes", "control-plane", ("v1.36.4", "v1.35.9")))
    assert list_failures(judge(STEP, answers)) == {"version": ("1.35.9", "upgrade")}


@pytest.mark.parametrize(
    ("unit", "actual"), [(STOPPED_UNIT, "not active"), (ABSENT, "not installed")], ids=["stopped", "absent"]
)
def test_a_kubelet_that_does_not_run_is_for_install(unit: str, actual: str) -> None:
    assert list_failures(judge(STEP, {("units.services", "k2"): build_units(unit)})) == {"kubelet": (actual, "install")}


def test_an_unhealthy_kubelet_is_for_install() -> None:
    answers = place_answers("k2", read_case("kubelet.health", "refused"))
    assert list_failures(judge(STEP, answers)) == {"kubelet": ("silent", "install")}


def test_a_host_without_its_pod_network_is_for_install() -> None:
    answers = place_answers("k2", read_case("flannel.host", "worker", ("READY=yes", "READY=no")))
    assert list_failures(judge(STEP, answers)) == {"pod-network": ("not ready", "install")}
    answers = place_answers("k2", read_case("flannel.host", "worker", ("CONFLIST=yes", "CONFLIST=no")))
    assert list_failures(judge(STEP, answers)) == {"pod-network": ("no CNI configuration", "install")}


def test_without_the_file_that_flanneld_writes_no_pod_can_start() -> None:
    """The CNI plugin reads /run/flannel/subnet.env; flanneld itself does not mind."""
    answers = place_answers("k2", make_answer("flannel.host", "CONFLIST=yes\nREADY=yes\n"))
    assert list_failures(judge(STEP, answers)) == {"pod-network": ("nothing", "install")}


def test_a_file_with_a_token_is_removed() -> None:
    failures = list_failures(judge(STEP, place_answers("k2", read_case(FILES, "leftover-bootstrap"))))
    assert failures == {"leftovers": ("/etc/kubernetes/bootstrap-kubelet.conf", "install")}


def test_another_address_than_the_inventory_s_is_for_the_operator() -> None:
    host = replace(K2, spec=HostSpec(gpustack_node_ip=IPv4Address("10.99.0.2")))
    assert list_failures(judge(STEP, hosts=(K1, host))) == {"address": ("10.78.0.12", "operator")}


def test_a_message_about_a_file_with_a_token_is_not_taken_for_one() -> None:
    mismatch = judge(STEP, place_answers("k2", read_case(FILES, "leftover-bootstrap")))["leftovers"].result
    assert redact(str(mismatch)) == str(mismatch)
