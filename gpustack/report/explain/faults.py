"""The pages of faults and states: what the catalogue says of one, and where the graph has it. At 80 columns."""

from collections.abc import Iterator, Mapping
from textwrap import fill, wrap

from gpustack.doctor.entry import Edge, Fault, State
from gpustack.doctor.graph import graph
from gpustack.report.doctor.format import AUTO

WIDTH = 80
ROLES = {
    "fault": "It can be a root cause.",
    "pointer": "It is never the cause itself: it points to one.",
    "info": "It is true and harmless.",
}
SCOPES = {"host": "Scope: host.", "cluster": "Scope: cluster."}


def faults() -> Mapping[str, Fault]:
    return graph().faults


def states() -> Mapping[str, State]:
    return graph().states


def of_fault(fault: Fault) -> Iterator[str]:
    yield f"{fault.id}: {fault.title}\n"
    yield filled(fault.cause)
    role = ROLES.get(fault.role) or f"It is a root cause only if {fault.guard}; else it is a symptom."
    yield f"\n{filled(f'{role} {SCOPES[fault.scope]} Layer: {fault.layer}.')}"
    if fault.alias_of:
        yield f"\n{filled(f'Another name for the state {fault.alias_of}.')}"
    yield from listed("Symptoms", fault.symptoms)
    yield "\nDetection"
    for one in fault.evidence:
        yield f"  {one.run}"
        yield fill(one.proves, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    yield from neighbours(fault.id)
    yield f"\nFix ({AUTO[fault.auto]}: {fault.why})"
    yield fill(fault.fix.do, WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield from (f"    {line}" for line in fault.fix.commands)
    if fault.remedy:
        yield f"    gpustack doctor --fix {fault.id}"
    yield from listed("Sources", fault.sources)
    yield ""


def of_state(state: State) -> Iterator[str]:
    yield f"{state.id}: {state.title}\n"
    yield filled(f"{state.means} Several faults lead here; it is never the cause itself. {SCOPES[state.scope]}")
    yield f"\nDetection\n  {state.ask}"
    yield from neighbours(state.id)
    yield ""


def neighbours(id: str) -> Iterator[str]:
    """What stands directly above it and below it in the graph."""
    yield from edges("Causes", graph().above[id], effects=False)
    yield from edges("Effects", graph().below[id], effects=True)


def edges(title: str, found: tuple[Edge, ...], *, effects: bool) -> Iterator[str]:
    if found:
        yield f"\n{title}"
    for edge in found:
        other = edge.effect if effects else edge.cause
        when = f", if {edge.condition}" if edge.condition else ""
        yield fill(f"{other}: {graph()[other].title}{when}", WIDTH, initial_indent="  ", subsequent_indent="      ")


def listed(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield f"\n{title}"
    for text in texts:
        yield from wrap(text, WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)


def filled(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
