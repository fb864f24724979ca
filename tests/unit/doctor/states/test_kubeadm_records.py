"""Settings on a host that neither kubeadm nor its records in the cluster have."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.states import kubeadm_records
from gpustack.doctor.states.state import AbnormalState, observe_all
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot

FLAGS, FIELDS = "kubeadm.component-flags", "kubelet.config-fields"
LEADER = "kube-controller-manager --leader-elect=true\n"


def list_states(probe: str, *edits: tuple[str, str], settings: tuple[tuple[str, str], ...] = ()) -> list[AbnormalState]:
    answer = replace(read_case("kubeadm.settings", "control-plane", *settings), location=CLUSTER)
    case = "control-plane" if probe == FLAGS else "worker"
    answers = place_answers("h1", read_case(probe, case, *edits)) | {("kubeadm.settings", CLUSTER): answer}
    states, _ = observe_all(kubeadm_records.OBSERVERS, build_snapshot(answers))
    return list(states)


@pytest.mark.parametrize("probe", [FLAGS, FIELDS])
def test_what_kubeadm_writes_is_no_state(probe: str) -> None:
    assert list_states(probe) == []


def test_a_flag_that_kubeadm_does_not_set_is_a_risk() -> None:
    # kubernetes/kubernetes#80172: nodes flap where this is shorter than the renewals of their Leases
    flag = "--node-monitor-grace-period=4s"
    (state,) = list_states(FLAGS, (LEADER, f"{LEADER}kube-controller-manager {flag}\n"))
    assert (state.severity, state.locations) == ("risk", ("h1",))
    assert state.subjects == ("static pod kube-controller-manager",)
    assert state.message.startswith(f"it has {flag}, which neither kubeadm")


def test_another_value_of_a_flag_that_is_the_same_everywhere_is_a_risk() -> None:
    # kubernetes/kubernetes#111938: pods of new namespaces wait for kube-root-ca.crt
    value = "*,bootstrapsigner,tokencleaner,-root-ca-certificate-publisher-controller"
    (state,) = list_states(FLAGS, ("--controllers=*,bootstrapsigner,tokencleaner", f"--controllers={value}"))
    assert f"--controllers={value}" in state.message


@pytest.mark.parametrize("version", ["v1beta4", "v1beta3"])
def test_a_flag_of_the_cluster_configuration_is_no_state(version: str) -> None:
    lists = r"  - name: bind-address\n    value: 0.0.0.0\ndns"
    mapping = r"    bind-address: 0.0.0.0\n    v: \"4\"\ndns"
    further = r"  - name: v\n    value: \"4\"\n" + lists
    settings = ((lists, mapping if version == "v1beta3" else further),)
    assert list_states(FLAGS, (LEADER, f"{LEADER}kube-controller-manager --v=4\n"), settings=settings) == []


def test_a_field_that_the_cluster_does_not_have_is_a_note() -> None:
    # vllm-project/vllm#5645: a job starts more threads than its pod may have
    (state,) = list_states(FIELDS, ("rotateCertificates: true", "rotateCertificates: true\npodPidsLimit: 24"))
    assert (state.severity, state.subjects) == ("note", ("kubelet of h1",))
    assert state.message == "it has podPidsLimit: 24, and the ConfigMap kube-system/kubelet-config does not"


def test_a_field_with_another_value_is_a_note() -> None:
    (state,) = list_states(FIELDS, ("clusterDomain: cluster.local", "clusterDomain: k8s.internal"))
    assert "it has clusterDomain: k8s.internal" in state.message
