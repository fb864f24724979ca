"""Removals of nodes, as text and as a JSON document: what would be lost, what stands against it, and the end."""

from typing import Literal

from pydantic import Field

from gpustack.command import Command
from gpustack.config.inventory import Inventory
from gpustack.nodes.drain import check_drain
from gpustack.nodes.node_removal import NodeRemovalResult
from gpustack.nodes.removal_plan import RemovalPlan
from gpustack.nodes.residents import Resident
from gpustack.report.document import render_result
from gpustack.report.findings import print_command, print_field, print_text
from gpustack.report.human import print_next_command
from gpustack.report.nodes.json import build_pod_row, list_pod_rows
from gpustack.report.nodes.renderings import REMOVE
from gpustack.report.nodes.text import INDENT, list_resident_rows, render_plan
from gpustack.report.removal.text import render_outcome, render_removal
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, TimeOrNull, take
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration


def render_removal_plan(console: Terminal, plan: RemovalPlan) -> None:
    """Print who runs on the node, its volumes, and what is removed from its host."""
    if plan.silence:
        console.hide_secrets(plan.drain.snapshot.inventory)
        host = f", host {plan.host}" if plan.host else ""
        print_text(console, f"node {plan.drain.node.name}{host}: to be deleted without its host", "bold")
        for sign in plan.silence.signs:
            print_field(console, "dead", sign, INDENT)
        for objection in plan.silence.objections:
            print_field(console, "not proven", objection, INDENT, "red", "red")
        print_lost_pods(console, plan)
        print_text(console, "Its pods end in the API. On a host that is only cut off they run on: switch it off first.")
    else:
        render_plan(console, plan.drain)
    print_volumes(console, plan)
    if plan.reset:
        console.print()
        render_removal(console, plan.reset)


def print_lost_pods(console: Terminal, plan: RemovalPlan) -> None:
    """Print the pods of a dead host, and which of them nobody makes anew."""
    if not plan.drain.residents:
        return
    rows = list_resident_rows(plan.drain.residents, plan.drain.snapshot.started_at, describe_end)
    console.print(draw_table(console, ("POD", "OWNER", "GPUS", "AGE", "THEN"), rows))


def describe_end(resident: Resident) -> str:
    """Describe what becomes of a pod of a dead host."""
    if resident.fate == "stays":
        return "ends with the node"
    return resident.reason or "its controller makes it anew"


def print_volumes(console: Terminal, plan: RemovalPlan) -> None:
    """Print the volumes whose data is on the node alone, and what becomes of it."""
    fate = "is lost with the host" if plan.silence else "stays on the host, and no pod reaches it any more"
    for volume in plan.volumes:
        size = f" of {volume.capacity}" if volume.capacity else ""
        path = f" in {volume.path}" if volume.path else ""
        text = f"{volume.claim or 'no claim'}: {volume.name}{size}{path} {fate}"
        print_field(console, "volume", text, INDENT, "yellow", "yellow")
    claims = [volume.claim.partition("/") for volume in plan.volumes if volume.claim]
    for namespace in dict.fromkeys(namespace for namespace, _, _ in claims):
        names = dict.fromkeys(name for space, _, name in claims if space == namespace)
        print_text(console, f"Pods in {namespace} that need these volumes then wait, Pending. To give up the data:")
        print_command(console, Command("kubectl", "-n", namespace, "delete", "pvc", "--wait=false", *names), INDENT)
    if not plan.volumes:
        print_field(console, "volumes", "none has its data on this node alone", INDENT)


def render_removal_result(console: Terminal, result: NodeRemovalResult, evidence: str = "") -> None:
    name = result.plan.drain.node.name
    if result.only_checked:
        render_removal_plan(console, result.plan)
        refusals = result.plan.refusals
        for refusal in refusals:
            print_field(console, "refused", f"{refusal.message} {refusal.reason}", INDENT, "red", "red")
        print_text(console, "\nchecked only, nothing was changed", "" if refusals else "green")
        return
    console.hide_secrets(result.plan.drain.snapshot.inventory)
    for pod in result.drain.remaining_pods if result.drain else ():
        print_field(console, "remains", f"{pod.resident.pod.full_name}: {pod.reason}", INDENT)
    if result.reset:
        render_outcome(console, result.reset, evidence)
    end = "removed from the cluster" if result.removed else "still in the cluster"
    print_text(
        console, f"\nnode {name}: {end}; {format_duration(result.seconds)}", "" if result.exit_status else "green"
    )
    if not result.reset:
        if result.stop_reason:
            print_text(console, f"stopped: {result.stop_reason}", "red")
        print_next_command(console, result.next_command)
    if result.removed and result.plan.host:
        print_text(console, f"take {result.plan.host} out of the inventory, or the next install adds its node again")


class RemovedPod(Shape):
    """Describe a pod of the node, as `node drain` does. `lost` is a pod of a host that is dead."""

    namespace: str
    pod: str
    owner: TextOrNull
    gpu_count: int
    pod_started_at: TimeOrNull
    outcome: Literal["left", "remains", "leaves", "stays", "refused", "lost"]
    reason: TextOrNull


class LocalVolumeRow(Shape):
    """Describe a volume whose data is on the node alone. `path` is empty where the volume does not say it."""

    name: str
    claim: TextOrNull
    path: str


class RemoveDocument(Document):
    """Describe the result of `gpustack node remove`. `reasons` stand against the removal, or against the proof that the
    host is dead."""

    kind: Literal["gpustack/node-remove/v1"] = Field("gpustack/node-remove/v1", alias="schema")
    node: str
    node_host: TextOrNull
    only_checked: bool
    removed: bool
    reasons: list[str]
    pods: list[RemovedPod]
    local_volumes: list[LocalVolumeRow] = take("plan", "volumes")
    seconds: Seconds
    stop_reason: TextOrNull
    evidence_directory: TextOrNull
    next: TextOrNull = take("next_command")


def render_removal_json(result: NodeRemovalResult, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    rows = (
        [build_pod_row(resident, "lost", describe_end(resident)) for resident in result.plan.drain.residents]
        if result.plan.silence
        else list(list_pod_rows(result.drain or check_drain(result.plan.drain)))
    )
    return render_result(
        REMOVE,
        RemoveDocument,
        result,
        inventory,
        node=result.plan.drain.node.name,
        node_host=result.plan.host,
        reasons=[f"{refusal.message} {refusal.reason}".strip() for refusal in result.plan.refusals],
        pods=rows,
        evidence_directory=evidence,
    )
