"""ClusterRoles that nobody has, by the bindings of a lab cluster."""

from typing import Any

import pytest

from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import diagnose_items, list_states, read_recorded_items

STATE_METRICS = "monitoring-kube-state-metrics"


def list_unbound_roles(bindings: list[Any]) -> list[AbnormalState]:
    roles = read_recorded_items("rbac.cluster-roles", "usual")
    return list_states(diagnose_items(rbac__cluster_roles=roles, rbac__cluster_role_bindings=bindings), "role-unbound")


def drop_binding(name: str) -> list[Any]:
    bindings = read_recorded_items("rbac.cluster-role-bindings", "usual")
    remaining_bindings = [binding for binding in bindings if binding["metadata"]["name"] != name]
    assert len(remaining_bindings) == len(bindings) - 1
    return remaining_bindings


def test_bindings_of_a_lab_cluster_leave_no_role_out() -> None:
    assert list_unbound_roles(read_recorded_items("rbac.cluster-role-bindings", "usual")) == []


@pytest.mark.parametrize(
    ("binding", "role"),
    [
        (STATE_METRICS, STATE_METRICS),
        ("flannel", "flannel"),
        ("kubeadm:node-proxier", "system:node-proxier"),
        ("system:coredns", "system:coredns"),
    ],
)
def test_a_role_without_its_binding_is_broken(binding: str, role: str) -> None:
    (state,) = list_unbound_roles(drop_binding(binding))
    assert (state.severity, state.subjects) == ("broken", (f"clusterrole {role}",))
    assert "Forbidden" in state.message


def test_a_role_whose_account_has_another_one_is_a_risk() -> None:
    bindings = drop_binding(STATE_METRICS)
    account = {"kind": "ServiceAccount", "namespace": "monitoring", "name": STATE_METRICS}
    second_binding = {"metadata": {"name": "site"}, "roleRef": {"name": "cluster-admin"}, "subjects": [account]}
    (state,) = list_unbound_roles([*bindings, second_binding])
    assert state.severity == "risk"


def test_bindings_that_are_unknown_say_nothing() -> None:
    assert list_states(diagnose_items(), "role-unbound") == []
