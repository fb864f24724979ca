"""Errors that programs of the platform logged since something went wrong that nothing explains, and errors that last
and began long after their log did.

A program logs errors while all is well, too, such as about a file that it can do without; mostly it does so from its
start on.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.recent_changes import has_our_time
from gpustack.doctor.states.state import AbnormalState, Kind, Observer, find_object, observe_all
from gpustack.doctor.states.warning_events import EARLIEST_TIME
from gpustack.probes.host.logged_errors import LOGGED_ERRORS, LoggedError
from gpustack.probes.host.units import UNITS

KIND: Kind = "errors-logged"
MARGIN = timedelta(minutes=10)
"""The time before the first abnormal state within which its cause may have begun to be logged, and the time after the
beginning of a log within which the errors of a start begin."""
FEWEST_ERRORS = 3
"""The errors within five minutes from which on one lasts."""
LONGEST_PAUSE = timedelta(minutes=3)
"""The longest pause of an error that comes FEWEST_ERRORS times in five minutes, with some room."""
MAX_STATES = 6
"""The most errors that are shown, those that began last."""
MAX_ERRORS = 2
"""The most errors of one log."""
NUMBER = re.compile(r"[0-9]+")


def observe_errors(view: View) -> Iterator[AbnormalState]:
    """List the newest errors of each log of a host."""
    errors_by_log: dict[tuple[str, ...], list[LoggedError]] = {}
    logged_errors = view[LOGGED_ERRORS]
    for error in sorted(logged_errors, key=lambda error: error.last_logged_at, reverse=True):
        errors_by_log.setdefault(error.log, []).append(error)
    for errors in errors_by_log.values():
        for error in errors[:MAX_ERRORS]:
            yield build_state(view, error)


def observe_lasting_errors(view: View) -> Iterator[AbnormalState]:
    """List the errors that a log has again and again, and had not for MARGIN after its beginning."""
    for error in view[LOGGED_ERRORS]:
        is_new = error.first_logged_at - find_beginning(view, error) >= MARGIN
        if error.count >= FEWEST_ERRORS and is_new and not is_over(view, error):
            yield build_state(view, error)


def find_beginning(view: View, error: LoggedError) -> datetime:
    """Find when the run of the program began in which it logged the error first. The log of a unit has earlier runs,
    such as those of a kubelet that waited for kubeadm."""
    unit = view[UNITS].get(error.log[0]) if len(error.log) == 1 and view.has_fact(UNITS) else None
    start = datetime.fromtimestamp(unit.active_since, UTC) if unit and unit.active_since else error.log_begins_at
    return max(start, error.log_begins_at) if start <= error.first_logged_at else error.log_begins_at


def is_over(view: View, error: LoggedError) -> bool:
    """Tell whether an error that came FEWEST_ERRORS times in five minutes does not come any more."""
    return has_our_time(view.snapshot, view.location) and view.started_at - error.last_logged_at > LONGEST_PAUSE


def build_state(view: View, error: LoggedError) -> AbnormalState:
    """Build the note of an error. No onset is claimed where the clock of the host differs from ours."""
    onset = error.first_logged_at if has_our_time(view.snapshot, view.location) else None
    return AbnormalState(
        KIND, "note", (view.location,), (format_log(error.log),), error.message, build_command(error.log), onset,
        error.count, topic=NUMBER.sub("#", error.message),
    )  # fmt: skip


def format_log(log: Sequence[str]) -> str:
    return f"program {log[0]}" if len(log) == 1 else f"pod {log[0]}/{log[1]}, container {log[2]}"


def build_command(log: Sequence[str]) -> Command:
    if len(log) == 1:
        return Command("journalctl", "-t", log[0], "--since", "-5min")
    return Command("kubectl", "-n", log[0], "logs", log[1], "-c", log[2], "--since", "5m")


def find_new_errors(snapshot: Snapshot, states: Collection[AbnormalState]) -> Sequence[AbnormalState]:
    """Find the errors that were not logged before the first abnormal state of `states`, without those of an object that
    has a state already."""
    errors, _ = observe_all((ALL_ERRORS,), snapshot)
    onsets = [state.onset for state in states if state.severity != "note" and state.onset]
    earliest_time = min(onsets) - MARGIN if onsets else EARLIEST_TIME
    objects = {find_object(subject) for state in states for subject in state.subjects}
    return select_last_errors(
        error
        for error in errors
        if (error.onset is None or error.onset >= earliest_time)
        and not objects.issuperset(map(find_object, error.subjects))
    )


def select_last_errors(errors: Iterable[AbnormalState]) -> Sequence[AbnormalState]:
    """Select at most MAX_STATES, those that began last."""
    return sorted(errors, key=lambda error: error.onset or EARLIEST_TIME, reverse=True)[:MAX_STATES]


ALL_ERRORS = Observer("logged-errors", "Errors in logs", observe_errors, (LOGGED_ERRORS,), scope="host")
OBSERVERS = (
    Observer("lasting-errors", "Errors in logs", observe_lasting_errors, (LOGGED_ERRORS, UNITS), scope="host"),
)
