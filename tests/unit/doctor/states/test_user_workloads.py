"""Work of users with GPUs that nothing runs: no pod has a state of it."""

from typing import Any

import pytest

from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import diagnose_items, format_time, list_states, read_recorded_items

DEPLOYMENTS, JOBS = "workloads.gpu-deployments", "workloads.gpu-jobs"


def read_item(probe: str, case: str, minutes: float = 5, **metadata: Any) -> Any:
    """Read the recorded object of a case, with conditions that changed some minutes before the recording."""
    (item,) = read_recorded_items(probe, case)
    item["metadata"] |= metadata
    for condition in item["status"].get("conditions", ()):
        condition["lastTransitionTime"] = format_time(minutes)
    return item


def list_deployment_states(item: Any, pending: list[Any] | None = None) -> list[AbnormalState]:
    diagnosis = diagnose_items(workloads__gpu_deployments=[item], pods__pending=pending or [])
    return [state for state in list_states(diagnosis) if state.subjects[0].startswith("deployment team")]


def test_a_deployment_whose_pods_are_refused_is_a_note_with_the_words_of_the_api_server() -> None:
    # kubernetes/kubernetes#130887
    (state,) = list_deployment_states(read_item(DEPLOYMENTS, "refused"))
    assert (state.kind, state.severity, state.subjects) == ("pods-refused", "note", ("deployment team/serve",))
    assert "no params found for policy binding with `Deny` parameterNotFoundAction" in state.message
    assert str(state.next_command) == "kubectl -n team describe deployment serve"


@pytest.mark.parametrize("namespace", ["monitoring", "gpu-operator", "kube-system"])
def test_a_deployment_of_the_platform_has_a_state_of_its_own(namespace: str) -> None:
    assert list_deployment_states(read_item(DEPLOYMENTS, "refused", namespace=namespace)) == []
