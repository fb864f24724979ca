"""Drains as JSON documents. Within a version fields are only ever added."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.nodes.drain import DrainResult
from gpustack.nodes.residents import Resident
from gpustack.nodes.uncordon import UncordonResult
from gpustack.report.document import render_result
from gpustack.report.nodes.renderings import DRAIN, UNCORDON
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, TimeOrNull, take


class DrainedPod(Shape):
    """Describe a pod of the node. `outcome` is `left` or `remains` after a drain, `leaves` where it was only checked,
    `stays` for a pod that a drain does not touch, and `refused` for one that has to be named."""

    namespace: str
    pod: str
    owner: TextOrNull
    gpu_count: int
    pod_started_at: TimeOrNull
    outcome: Literal["left", "remains", "leaves", "stays", "refused"]
    reason: TextOrNull


class HolderRow(Shape):
    """Describe a process that holds a device file of NVIDIA. `holder_pod` is null outside of pods."""

    pid: int
    user: str
    program: str = take("command")
    holder_pod: TextOrNull


class ModuleRow(Shape):
    """Describe a module of the kernel that holds the driver. Of its uses `users` have a name."""

    module: str
    use_count: int
    users: list[str]


class DrainDocument(Document):
    """Describe the result of `gpustack node drain`. `device_holders` and `driver_modules` are null where the processes
    and the modules are unknown."""

    kind: Literal["gpustack/node-drain/v1"] = Field("gpustack/node-drain/v1", alias="schema")
    node: str
    node_host: TextOrNull
    only_checked: bool
    cordoned_by: TextOrNull
    pods: list[DrainedPod]
    device_holders: list[HolderRow] | None
    driver_modules: list[ModuleRow] | None
    unknown_reason: TextOrNull
    seconds: Seconds
    stop_reason: TextOrNull
    evidence_directory: TextOrNull
    next: TextOrNull = take("next_command")


class UncordonDocument(Document):
    """Describe the result of `gpustack node uncordon`. `uncordoned` is false where the node was not cordoned."""

    kind: Literal["gpustack/node-uncordon/v1"] = Field("gpustack/node-uncordon/v1", alias="schema")
    node: str = take("node", "name")
    uncordoned: bool = take("changed")


def render_drain(drain: DrainResult, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    plan = drain.plan
    holders = None
    if plan.holders is not None:
        holders = [{**vars(holder), "holder_pod": plan.name_holder_pod(holder)} for holder in plan.holders]
    modules = None
    if plan.modules is not None:
        modules = [
            {"module": module.name, "use_count": module.uses, "users": list(module.users)} for module in plan.modules
        ]
    return render_result(
        DRAIN,
        DrainDocument,
        drain,
        inventory,
        node=plan.node.name,
        node_host=plan.host,
        cordoned_by="" if drain.cordon == "none" else drain.cordon,
        pods=list(list_pod_rows(drain)),
        device_holders=holders,
        driver_modules=modules,
        evidence_directory=evidence,
    )


def list_pod_rows(drain: DrainResult) -> Iterator[dict[str, Any]]:
    """List the pods that were there, and those that came meanwhile and remain."""
    remaining = {pod.resident.pod.uid: pod for pod in drain.remaining_pods}
    uids = {resident.pod.uid for resident in drain.plan.residents}
    newcomers = [pod.resident for uid, pod in remaining.items() if uid not in uids]
    for resident in (*drain.plan.residents, *newcomers):
        uid, outcome, reason = resident.pod.uid, str(resident.fate), describe_reasons(resident)
        if uid in remaining:
            outcome, reason = "remains", remaining[uid].reason
        elif outcome == "leaves" and not (drain.only_checked or drain.unknown_reason):
            outcome, reason = "left", resident.reason
        yield build_pod_row(resident, outcome, reason)


def describe_reasons(resident: Resident) -> str:
    return "; ".join(filter(None, (resident.reason, resident.budget_reason)))


def build_pod_row(resident: Resident, outcome: str, reason: str) -> dict[str, Any]:
    pod = resident.pod
    return {
        "namespace": pod.namespace,
        "pod": pod.name,
        "owner": pod.controller,
        "gpu_count": pod.devices,
        "pod_started_at": pod.started_at,
        "outcome": outcome,
        "reason": reason,
    }


def render_uncordon(uncordon: UncordonResult, *, inventory: Inventory | None = None) -> str:
    return render_result(UNCORDON, UncordonDocument, uncordon, inventory)
