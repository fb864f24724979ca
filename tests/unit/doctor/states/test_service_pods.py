"""Services of the platform whose selector no pod has, laid over the healthy cluster."""

from typing import Any

import pytest

from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import diagnose_items, find_item, format_time, list_states, read_items


def list_service_states(namespace: str, selector: dict[str, str] | None) -> list[AbnormalState]:
    service: dict[str, Any] = {
        "metadata": {"name": "kube-dns", "namespace": namespace},
        "spec": {"clusterIP": "10.96.0.10", "ports": [{"name": "dns", "port": 53}], "selector": selector},
    }
    return list_states(diagnose_items(proof__services=[*read_items("proof.services"), service]), "service-without-pods")


def test_a_service_whose_selector_was_changed_is_a_risk() -> None:
    (state,) = list_service_states("kube-system", {"k8s-app": "coredns"})
    assert (state.severity, state.subjects) == ("risk", ("service kube-system/kube-dns",))
    assert state.message == "it selects k8s-app=coredns, and no pod of its namespace has these labels"


@pytest.mark.parametrize(
    ("namespace", "selector"),
    [("kube-system", {"k8s-app": "kube-dns"}), ("kube-system", None), ("shop", {"app": "later"})],
    ids=["with-pods", "without-selector", "of-a-user"],
)
def test_a_service_that_has_pods_or_is_of_others_is_no_state(namespace: str, selector: dict[str, str] | None) -> None:
    assert list_service_states(namespace, selector) == []


def list_local_states(policy: str, **fields: Any) -> list[AbnormalState]:
    """Diagnose kube-dns with this policy (kubernetes/kubernetes#121371), where CoreDNS runs on one node of two."""
    services = read_items("proof.services")
    service = find_item(services, "kube-dns")
    service["spec"] |= {"selector": {"k8s-app": "kube-dns"}, "internalTrafficPolicy": policy}
    pods = read_items("pods.system")
    for pod in pods:
        if pod["metadata"]["labels"].get("k8s-app") == "kube-dns":
            pod["spec"]["nodeName"] = "k1"
            pod["metadata"] |= fields
    return list_states(diagnose_items(proof__services=services, pods__system=pods), "service-without-pods")


def test_a_service_of_the_own_node_is_broken_where_no_pod_of_it_runs() -> None:
    (state,) = list_local_states("Local")
    assert (state.severity, state.subjects) == ("broken", ("service kube-system/kube-dns",))
    assert "internalTrafficPolicy Local" in state.message
    assert "its ready pods run on k1: on k2" in state.message


def test_a_service_of_the_cluster_or_with_a_pod_on_each_node_is_no_state() -> None:
    assert list_local_states("Cluster") == []
    owner = [{"kind": "DaemonSet", "name": "coredns", "controller": True}]
    assert list_local_states("Local", ownerReferences=owner) == []


def list_address_states(**fields: Any) -> list[AbnormalState]:
    """Diagnose a Service that a user made twenty minutes ago; `fields` replace those of its `spec` or `status`."""
    service: dict[str, Any] = {
        "metadata": {"name": "serve", "namespace": "team", "creationTimestamp": format_time(20)},
        "spec": {"type": "LoadBalancer", "clusterIP": "10.97.208.72", "ports": [{"port": 8000, "nodePort": 32303}]},
        "status": {"loadBalancer": {}},
    }
    merged_service = {name: {**part, **fields.get(name, {})} for name, part in service.items()}
    diagnosis = diagnose_items(proof__services=[*read_items("proof.services"), merged_service])
    return list_states(diagnosis, "service-without-address")


def test_a_service_for_which_nobody_makes_a_load_balancer_is_a_note_with_its_ports() -> None:
    (state,) = list_address_states()
    assert (state.severity, state.subjects) == ("note", ("service team/serve",))
    assert "no load balancer has given it an address; ports of each node: 32303" in state.message
    assert state.onset is not None
    (state,) = list_address_states(metadata={"namespace": "monitoring"})
    assert state.severity == "risk"


@pytest.mark.parametrize(
    "fields",
    [
        {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.10"}]}}},
        {"metadata": {"creationTimestamp": format_time(1)}},
        {"spec": {"type": "NodePort"}},
    ],
    ids=["with-an-address", "new", "of-another-type"],
)
def test_a_service_with_an_address_or_without_need_of_one_is_no_state(fields: dict[str, Any]) -> None:
    assert list_address_states(**fields) == []
