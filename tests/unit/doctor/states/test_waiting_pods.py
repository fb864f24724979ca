"""Pods that no scheduler places: behind a gate, with a claim, for a scheduler that does not run, or for a
node that is gone."""

from copy import deepcopy
from typing import Any

import pytest

from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import (
    diagnose_items,
    find_item,
    format_time,
    list_states,
    make_pod,
    read_items,
    read_recorded_items,
)

# kubernetes/kubernetes pkg/scheduler/framework/plugins/schedulinggates
GATE_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"
# kubernetes/kubernetes pkg/scheduler/framework/plugins/dynamicresources
CLAIM_MESSAGE = "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: 0/2 nodes."


def list_waiting_states(message: str, minutes: float = 5, gpus: bool = True, **spec: Any) -> list[AbnormalState]:
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    pod = make_pod("team", "train-0", {}, phase="Pending", conditions=[condition] if message else [])
    pod["metadata"]["creationTimestamp"] = format_time(minutes)
    limits = {"nvidia.com/gpu": "1"} if gpus else {}
    pod["spec"] = {"containers": [{"resources": {"limits": limits}}], **spec}
    return list_states(diagnose_items(pods__pending=[pod]), "pod-unscheduled")


def test_the_gates_of_a_pod_are_named() -> None:
    # kubernetes-sigs/kueue#2029
    (state,) = list_waiting_states(GATE_MESSAGE, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    assert (state.severity, state.message) == ("note", f"{GATE_MESSAGE}: kueue.x-k8s.io/admission")


def test_a_pod_that_no_scheduler_has_judged_is_reported_with_the_name_of_its_scheduler() -> None:
    # volcano-sh/volcano#1094: such a pod has neither a condition nor an event
    (state,) = list_waiting_states("", schedulerName="volcano")
    assert (state.severity, state.subjects) == ("note", ("pod team/train-0",))
    assert state.message == "no scheduler has judged it: its schedulerName is volcano"


def test_a_scheduler_that_waits_for_a_volume_is_not_said_to_be_absent() -> None:
    # rancher/local-path-provisioner#569: the scheduler waits in PreBind, and writes no condition meanwhile
    (claim,) = read_recorded_items("storage.unbound-claims", "released")
    claim["metadata"]["namespace"] = "team"
    pod = make_pod("team", "train-0", {}, phase="Pending", conditions=[])
    pod["metadata"]["creationTimestamp"] = format_time(5)
    containers = [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    pod["spec"] = {"containers": containers, "schedulerName": "default-scheduler"}
    diagnosis = diagnose_items(pods__pending=[pod], storage__unbound_claims=[claim])
    (state,) = list_states(diagnosis, "pod-unscheduled")
    assert state.message == "default-scheduler has not placed it, and may wait for the volume of team/data"


def test_a_pod_that_needs_a_claim_is_reported() -> None:
    # kubernetes-sigs/dra-driver-nvidia-gpu#46
    claims = [{"name": "gpu", "resourceClaimName": "one-gpu"}]
    (state,) = list_waiting_states(CLAIM_MESSAGE, gpus=False, resourceClaims=claims)
    assert (state.severity, state.message) == ("note", CLAIM_MESSAGE)


@pytest.mark.parametrize(
    ("minutes", "spec"),
    [(0.2, {"schedulerName": "default-scheduler"}), (5, {"schedulerName": "volcano", "nodeName": "k1"})],
    ids=["just-made", "placed"],
)
def test_a_pod_that_may_be_judged_yet_or_was_placed_is_no_state(minutes: float, spec: dict[str, Any]) -> None:
    assert list_waiting_states("", minutes, **spec) == []


# kube-proxy for a node that somebody created and no kubelet has, in a lab with Kubernetes 1.36.4
LOST_MESSAGE = (
    "0/3 nodes are available: 1 Too many pods, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to "
    "deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is "
    "not helpful for scheduling."
)


def diagnose_pod_of_a_node(node: str) -> Diagnosis:
    """Diagnose a pod that the DaemonSet of kube-proxy made for a node. The node gpu-old-07 is not Ready."""
    lost_node = deepcopy(find_item(nodes := read_items("kube.nodes"), "k2"))
    lost_node["metadata"]["name"] = "gpu-old-07"
    lost_node["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "message": "Kubelet never posted node status."}
    ]
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": LOST_MESSAGE}
    conditions = [{**condition, "lastTransitionTime": format_time(3)}]
    pod = make_pod("kube-system", "kube-proxy-mzf9n", {"k8s-app": "kube-proxy"}, phase="Pending", conditions=conditions)
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    demands = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    pod["spec"] = {"containers": [{"resources": {}}], "affinity": {"nodeAffinity": demands}}
    return diagnose_items(pods__pending=[pod], kube__unscheduled_pods=[pod], kube__nodes=[*nodes, lost_node])


def test_a_pod_for_a_node_that_is_gone_is_no_shortage_of_the_cluster() -> None:
    diagnosis = diagnose_pod_of_a_node("gpu-old-07")
    assert [root.id for root in diagnosis.verdict.roots if root.id == "insufficient-resources"] == []
    (state,) = list_states(diagnosis, "pod-unscheduled")
    assert state.severity == "note"
    assert state.message.startswith("its DaemonSet made it for node gpu-old-07, which is not Ready: 0/3 nodes")


def test_a_pod_for_a_ready_node_without_room_is_a_shortage() -> None:
    diagnosis = diagnose_pod_of_a_node("k2")
    assert [root.certainty for root in diagnosis.verdict.roots if root.id == "insufficient-resources"] == ["certain"]
