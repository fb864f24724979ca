"""The selection of logged errors for a report, once it is known what is unexplained."""

from collections.abc import Sequence
from dataclasses import replace

from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.second_round import list_unexplained_states
from gpustack.doctor.states.logged_errors import KIND, find_new_errors, select_last_errors
from gpustack.doctor.states.state import AbnormalState


def has_unexplained_break(diagnosis: Diagnosis) -> bool:
    """Tell whether something does not work and no certain root cause explains it."""
    has_states = any(state.severity == "broken" for state in list_unexplained_states(diagnosis))
    has_likely_root = any(root.certainty != "certain" for root in diagnosis.select_roots("broken"))
    return has_states or has_likely_root or bool(diagnosis.unexplained_symptoms)


def select_logged_errors(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the logged errors that say something: those that began with what is unexplained, or
    where nothing is broken those that last. What a certain root cause explains has errors as its consequences."""
    lasting_errors = [state for state in diagnosis.abnormal_states if state.kind == KIND]
    states = tuple(state for state in diagnosis.abnormal_states if state.kind != KIND)
    errors: Sequence[AbnormalState] = ()
    if has_unexplained_break(diagnosis):
        errors = find_new_errors(diagnosis.snapshot, states)
    elif not diagnosis.select_roots("broken"):
        errors = select_last_errors(lasting_errors)
    return replace(diagnosis, abnormal_states=(*states, *errors))
