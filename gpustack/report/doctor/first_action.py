"""The most important thing to do now: what the first finding of a report asks for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER
from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.finding import Diagnosis, Finding
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.state import AbnormalState, Severity, select_states
from gpustack.report.doctor.states import format_subject
from gpustack.report.format import format_locations
from gpustack.rollout.next_command import build_command

REMOTE_PREFIXES = ("gpustack ", "kubectl ", "ssh ")
"""The beginnings of commands that are not typed on the host of a finding."""


@dataclass(frozen=True)
class Action:
    """Hold a command to type, and the finding that it is for. `host` is the one host on which it is typed, empty where
    there is none or there are several."""

    title: str
    command: Hint
    host: str = ""


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
        host = find_single_host(symptom.next_command, symptom.locations)
        yield Action(f"{title} ({format_locations(symptom.locations)})", symptom.next_command, host)
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
    host = find_single_host(state.next_command, state.locations)
    return Action(f"{format_subject(state)} ({format_locations(state.locations)})", state.next_command, host)


def name_hosts(command: Hint, locations: Sequence[str]) -> str:
    """Name the hosts on which a command is typed, such as `on gpu1`; empty for one that is typed elsewhere."""
    if CLUSTER in locations or command.startswith(REMOTE_PREFIXES):
        return ""
    return f"on {format_locations(locations)}"


def find_single_host(command: Hint, locations: Sequence[str]) -> str:
    return locations[0] if len(locations) == 1 and name_hosts(command, locations) else ""


def suggest_next(diagnosis: Diagnosis) -> Hint:
    """Suggest what to type after the report was read: the diagnosis again after the fix of a root cause, and else the
    first action."""
    if diagnosis.roots:
        return Prose("after the fix: {}", build_command(diagnosis.snapshot.inventory, "doctor"))
    action = find_first_action(diagnosis)
    if not action:
        return NO_HINT
    return Prose("next on {}: {}", action.host, action.command) if action.host else Prose("next: {}", action.command)
