"""Words for abnormal states, which all forms of a diagnosis share."""

from datetime import datetime

from gpustack.command import Command, Hint
from gpustack.doctor.states.state import AbnormalState
from gpustack.events import format_count
from gpustack.times import format_duration


def format_subject(state: AbnormalState) -> str:
    """Format the object of a state, or the first of several and their number."""
    remaining_count = len(state.subjects) - 1
    return state.subjects[0] + (f" and {remaining_count} more" if remaining_count else "")


def format_onset(state: AbnormalState, report_time: datetime) -> str:
    """Format when a state began, and how long before the report: `2026-11-22 16:07:49 UTC, 2 h 3 min earlier`. A state
    that began later, by another clock, has the time alone. Return an empty text where nothing says when it began."""
    if state.onset is None:
        return ""
    seconds = (report_time - state.onset).total_seconds()
    return f"{state.onset:%Y-%m-%d %H:%M:%S %Z}" + (f", {format_duration(seconds)} earlier" if seconds >= 0 else "")


def format_times(state: AbnormalState) -> str:
    """Format how often a state occurred; empty where that is not counted."""
    return format_count(state.count, "time") if state.count else ""


def build_explain_command(state: AbnormalState) -> Hint:
    return Command("gpustack", "explain", state.kind)
