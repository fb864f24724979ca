"""The pages of faults and states of the catalogue, with their neighbours in the graph."""

from collections.abc import Iterator, Mapping
from textwrap import fill, wrap

from gpustack.command import Command, add_inventory
from gpustack.doctor.entry import Edge, Fault, State
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.state import Severity
from gpustack.report.doctor.format import format_remediation
from gpustack.report.explain.width import compute_width, wrap_text

ROLES = {
    "fault": "It can be a root cause.",
    "pointer": "It is never the cause itself: it points to one.",
    "info": "It is true and harmless.",
}
SEVERITIES: Mapping[Severity, str] = {
    "broken": "",
    "risk": "It is a risk as long as nothing suffers from it. ",
    "note": "It is a note as long as nothing suffers from it. ",
}
SCOPES = {"host": "Scope: host.", "cluster": "Scope: cluster."}


def list_faults() -> Mapping[str, Fault]:
    return load_graph().faults


def list_states() -> Mapping[str, State]:
    return load_graph().states


def render_fault(fault: Fault) -> Iterator[str]:
    yield f"{fault.id}: {fault.title}\n"
    yield wrap_text(fault.cause)
    role = ROLES.get(fault.role) or f"It is a root cause only if {fault.guard}; else it is a symptom."
    severity = "" if fault.role == "info" else SEVERITIES[fault.severity]
    yield f"\n{wrap_text(f'{role} {severity}{SCOPES[fault.scope]} Layer: {fault.layer}.')}"
    if fault.alias_of:
        yield f"\n{wrap_text(f'Another name for the state {fault.alias_of}.')}"
    yield from render_list("Symptoms", fault.symptoms)
    yield "\nDetection"
    for evidence in fault.evidence:
        yield f"  {add_inventory(evidence.run, 'INVENTORY')}"
        yield fill(evidence.proves, compute_width(), initial_indent=" " * 6, subsequent_indent=" " * 6)
    yield from render_neighbours(fault.id)
    yield f"\nFix ({format_remediation(fault.remediation)}: {fault.reason})"
    yield fill(fault.fix.do, compute_width(), initial_indent="  ", subsequent_indent="  ")
    yield from (f"    {add_inventory(line, 'INVENTORY')}" for line in fault.fix.commands)
    if fault.remedy:
        yield f"    {Command('gpustack', 'doctor', '-i', 'INVENTORY', '--fix', fault.id)}"
    yield from render_list("Sources", fault.sources)
    yield ""


def render_state(state: State) -> Iterator[str]:
    yield f"{state.id}: {state.title}\n"
    yield wrap_text(f"{state.means} Several faults lead here; it is never the cause itself. {SCOPES[state.scope]}")
    yield f"\nDetection\n  {add_inventory(state.ask, 'INVENTORY')}"
    yield from render_neighbours(state.id)
    yield ""


def render_neighbours(id: str) -> Iterator[str]:
    """Render the direct causes and effects of a fault or state."""
    yield from render_edges("Causes", load_graph().incoming_edges[id], effects=False)
    yield from render_edges("Effects", load_graph().outgoing_edges[id], effects=True)


def render_edges(title: str, edges: tuple[Edge, ...], *, effects: bool) -> Iterator[str]:
    if edges:
        yield f"\n{title}"
    for edge in edges:
        neighbour = edge.effect if effects else edge.cause
        condition = f", if {edge.condition}" if edge.condition else ""
        yield fill(
            f"{neighbour}: {load_graph()[neighbour].title}{condition}",
            compute_width(),
            initial_indent="  ",
            subsequent_indent="      ",
        )


def render_list(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield f"\n{title}"
    for text in texts:
        yield from wrap(text, compute_width(), initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)
