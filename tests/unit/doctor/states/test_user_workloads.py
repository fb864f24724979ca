"""Work of users with GPUs that nothing runs: no pod has a state of it."""

from typing import Any

import pytest

from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import (
    diagnose_items,
    format_time,
    list_states,
    make_container,
    make_pod,
    read_recorded_items,
)

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


def build_stalled_deployment() -> Any:
    """Build a Deployment with the conditions of one whose deadline has passed."""
    item = read_item(DEPLOYMENTS, "refused")
    (stalled_item,) = read_recorded_items("workloads.system-deployments", "deadline")
    conditions = stalled_item["status"]["conditions"]
    item["status"]["conditions"] = [condition | {"lastTransitionTime": format_time(5)} for condition in conditions]
    return item


def test_a_deployment_whose_rollout_has_stopped_is_a_note_with_the_words_of_its_controller() -> None:
    (state,) = list_deployment_states(build_stalled_deployment())
    assert (state.kind, state.severity, state.subjects) == ("workload-stalled", "note", ("deployment team/serve",))
    assert state.message == ('ProgressDeadlineExceeded: ReplicaSet "coredns-5bf88c98c5" has timed out progressing.')


def test_a_pod_that_waits_says_more_than_its_deployment() -> None:
    pod = make_pod("team", "serve-5bf88c98c5-x7", {}, phase="Pending", conditions=[])
    pod["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "serve-5bf88c98c5", "controller": True}]
    pod["spec"] = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}], "schedulerName": "volcano"}
    assert list_deployment_states(build_stalled_deployment(), [pod]) == []


@pytest.mark.parametrize("namespace", ["monitoring", "gpu-operator", "kube-system"])
def test_a_deployment_of_the_platform_has_a_state_of_its_own(namespace: str) -> None:
    assert list_deployment_states(read_item(DEPLOYMENTS, "refused", namespace=namespace)) == []


def list_job_states(item: Any, **lists: Any) -> list[AbnormalState]:
    diagnosis = diagnose_items(workloads__gpu_jobs=[item], **lists)
    return [state for state in list_states(diagnosis) if state.subjects[0].startswith("job ")]


def test_a_job_that_failed_is_a_note_with_its_reason() -> None:
    # argoproj/argo-workflows#1093
    (state,) = list_job_states(read_item(JOBS, "deadline"))
    assert (state.kind, state.severity, state.subjects) == ("job-failed", "note", ("job team/finetune",))
    assert state.message == "DeadlineExceeded: Job was active longer than specified deadline"


def test_the_end_of_the_last_container_of_a_failed_job_is_named() -> None:
    end = {"exitCode": 1, "reason": "Error", "finishedAt": format_time(6), "message": "no room in /dev/shm\n"}
    pod = make_pod(
        "team", "finetune-x7", {}, phase="Failed", containerStatuses=[make_container("c", {"terminated": end})]
    )
    pod["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "finetune", "controller": True}]
    (state,) = list_job_states(read_item(JOBS, "deadline"), pods__failed=[pod])
    assert state.message.endswith("; the last container ended with exit code 1 (Error): no room in /dev/shm")


def test_a_job_that_failed_long_ago_is_no_state() -> None:
    assert list_job_states(read_item(JOBS, "deadline", minutes=1500)) == []


def test_a_job_whose_pods_are_refused_is_a_note() -> None:
    item = read_item(JOBS, "deadline")
    item["status"].pop("conditions")
    refusal = {
        "involvedObject": {"kind": "Job", "namespace": "team", "name": "finetune"},
        "message": "Error creating: exceeded quota: gpus",
        "firstTimestamp": format_time(5),
        "lastTimestamp": format_time(1),
        "count": 3,
    }
    (state,) = list_job_states(item, pods__refused=[refusal])
    assert (state.kind, state.severity) == ("pods-refused", "note")
    assert state.message == "Error creating: exceeded quota: gpus"


def list_mount_states(minutes: float = 2, count: int = 9) -> list[AbnormalState]:
    (pod,) = read_recorded_items("pods.pending", "unmounted")
    (event,) = read_recorded_items("warnings.mounts", "directory")
    pod["metadata"]["creationTimestamp"] = format_time(minutes)
    for condition in pod["status"]["conditions"]:
        condition["lastTransitionTime"] = format_time(minutes)
    event |= {"firstTimestamp": format_time(minutes), "lastTimestamp": format_time(0.5), "count": count}
    return list_states(diagnose_items(pods__pending=[pod], warnings__mounts=[event]), "container-not-started")


@pytest.mark.parametrize("minutes", [2, 15])
def test_a_pod_whose_volume_is_not_mounted_is_a_note_at_once(minutes: float) -> None:
    # kubernetes/kubernetes#90263
    (state,) = list_mount_states(minutes)
    assert state.severity == "note"
    assert "hostPath type check failed: /mnt/datasets is not a directory" in state.message


def test_a_volume_that_failed_once_is_no_state() -> None:
    assert list_mount_states(count=1) == []


def test_a_pod_that_made_room_is_a_note() -> None:
    # kubeflow/trainer#999
    events = read_recorded_items("pods.preempted", "preempted")
    (state,) = list_states(diagnose_items(pods__preempted=events), "pod-preempted")
    assert (state.severity, state.subjects) == ("note", ("pod team/long-run",))
    assert state.message.startswith("Preempted by pod 0a1bde20-59c8-4bc5-b0a6-2839014b9157 on node host2")


def test_a_pod_that_made_room_names_the_other_one_where_the_event_does() -> None:
    # Constructed from k8s.io/api core/v1, Event: `related` is the second object.
    (event,) = read_recorded_items("pods.preempted", "preempted")
    event["related"] = {"namespace": "team", "name": "urgent"}
    (state,) = list_states(diagnose_items(pods__preempted=[event]), "pod-preempted")
    assert state.message.endswith("; it made room for the pod team/urgent")
