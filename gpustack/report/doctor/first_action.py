"""The most important thing to do now: what the first finding of a report asks for."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.finding import Diagnosis, Finding
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.state import AbnormalState, Severity, select_states
from gpustack.report.doctor.states import format_subject
from gpustack.report.format import format_locations
from gpustack.rollout.next_command import build_command


@dataclass(frozen=True)
class Action:
    """Hold a command to type, and the finding that it is for."""

    title: str
    command: Hint


def find_first_action(diagnosis: Diagnosis) -> Action | None:
    """Find the action for the first finding in the order of the report. There is none where nothing has to be done."""
    return next(list_actions(diagnosis), None)


def list_actions(diagnosis: Diagnosis) -> Iterator[Action]:
    """List the actions in the order of the report. A broken state names its object and the words of a program, and an
    unexplained symptom what all causes of it have in common."""
    inventory = diagnosis.snapshot.inventory
    yield from list_root_actions(diagnosis, "broken")
    yield from map(build_state_action, diagnosis.broken_states)
    for symptom in diagnosis.unexplained_symptoms:
        title = load_graph()[symptom.id].title
        yield Action(f"{title} ({format_locations(symptom.locations)})", symptom.next_command)
    if diagnosis.drift:
        yield Action("the cluster differs from the spec", build_command(inventory, "plan"))
    yield from list_root_actions(diagnosis, "risk")
    yield from map(build_state_action, select_states(diagnosis.abnormal_states, "risk"))
    if diagnosis.unknown:
        yield Action("some checks could not be made", build_command(inventory, "doctor", "-v"))


def list_root_actions(diagnosis: Diagnosis, severity: Severity) -> Iterator[Action]:
    for root in diagnosis.select_roots(severity):
        title = load_graph()[root.id].title
        yield Action(f"{title} ({format_locations(root.locations)})", choose_command(root))


def choose_command(root: Finding) -> Hint:
    """Choose the command for a root cause: its fix, or else the first line that a person types."""
    hints = (root.commands.fix, *root.commands.repairs, Command("gpustack", "explain", root.id))
    return next(hint for hint in hints if hint)


def build_state_action(state: AbnormalState) -> Action:
    return Action(f"{format_subject(state)} ({format_locations(state.locations)})", state.next_command)


def suggest_next(diagnosis: Diagnosis) -> Hint:
    """Suggest what to type after the report was read: the diagnosis again after the fix of a root cause, and else the
    first action."""
    if diagnosis.roots:
        return Prose("after the fix: {}", build_command(diagnosis.snapshot.inventory, "doctor"))
    action = find_first_action(diagnosis)
    return Prose("next: {}", action.command) if action else NO_HINT
