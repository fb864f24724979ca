"""Nodes behind the gate of gpustack: they take no ordinary pods until their GPUs are proven."""

from collections.abc import Iterator
from datetime import timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, NodeRecord
from gpustack.times import format_duration

GATE_LIMIT = timedelta(hours=1)
"""An installation, or a reboot with its proof, is done by then."""
CAUSES = {
    "": "since it joined",
    "reboot": "since a reboot by gpustack",
    "reset": "since a reset of its GPUs",
    "diagnosed": "since a reset of its GPUs, whose diagnostic has passed",
}


def observe_gates(view: View) -> Iterator[AbnormalState]:
    """List the nodes behind the gate: a note, and a risk after an hour or where nobody knows for how long."""
    for node in view[NODE_RECORDS]:
        gate = node.gate
        if gate is None:
            continue
        onset = gate.closed_at or (None if gate.cause else node.created_at)
        age = view.started_at - onset if onset else None
        yield AbnormalState(
            "node-unproven",
            "risk" if age is None or age > GATE_LIMIT else "note",
            (locate_node(view, node.name),),
            (f"node {node.name}",),
            f"behind the gate {CAUSES.get(gate.cause, 'for an unknown reason')}{describe_age(age)}: it takes no "
            "ordinary pods until its GPUs are proven",
            choose_command(view, node),
            onset=onset,
        )


def describe_age(age: timedelta | None) -> str:
    if age is None:
        return ", for an unknown time"
    return f", for {format_duration(max(0, round(age.total_seconds() / 60)) * 60)}"


def choose_command(view: View, node: NodeRecord) -> Command:
    """Choose the command that opens the gate, or the diagnostic that comes before it."""
    options = ("--cordoned",) if node.cordoned else ()
    if node.gate and node.gate.needs_diagnostic:
        return Command("gpustack", "gpu", "diag", "--node", node.name, *options)
    host = locate_node(view, node.name)
    return Command("gpustack", "prove", *(() if host == CLUSTER else ("--limit", host)), *options)


OBSERVERS = (Observer("gates", "Nodes whose GPUs are to be proven", observe_gates, (NODE_RECORDS,)),)
