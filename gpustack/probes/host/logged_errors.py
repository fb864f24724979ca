"""Errors that programs of the platform logged within five minutes, by the severity that each wrote beside its message.

Logs of users are not read. The names of log files are the kubelet's (kubernetes/kubernetes pkg/kubelet/kuberuntime).
"""

from dataclasses import dataclass
from datetime import datetime

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.redact.redact import redact
from gpustack.ask.script_file import read_script
from gpustack.probes.host.units import PLATFORM_UNITS
from gpustack.probes.log_lines import strip_prefix
from gpustack.probes.parsing import parse_integer, parse_optional_time
from gpustack.probes.sections import parse_sections

UNMARKED_UNITS = {"containerd", "kubelet"}
"""Units that write to their standard error, which has no priority of its own."""


@dataclass(frozen=True)
class LoggedError:
    """Describe an error: the last `message`, when it was logged, how often the log had it within five minutes, and when
    it had it first. Messages that differ in numbers alone count as one. `log_begins_at` is the first time in the part
    of the log that is read, before which nothing is known."""

    log: tuple[str, ...]
    """Namespace, pod and container, or the program of a unit alone, as journalctl names it."""
    count: int
    log_begins_at: datetime
    first_logged_at: datetime
    last_logged_at: datetime
    message: str


def parse_logged_errors(answer: Answer) -> tuple[LoggedError, ...]:
    """Parse lines `LOG COUNT BEGIN FIRST LINE`. Raise ValueError where one has another shape."""
    containers, units, _ = parse_sections(answer.stdout, "containers", "units", "end")
    errors = [parse_logged_error(line, is_unit=False) for line in containers]
    return (*errors, *(parse_logged_error(line, is_unit=True) for line in units))


def parse_logged_error(text: str, *, is_unit: bool) -> LoggedError:
    """Parse a line. That of a unit has its time, host and program before the message, and that of a container its time,
    stream and tag."""
    log, count, begin, first, line = text.split(" ", 4)
    last, _, message = line.partition(" ")
    if is_unit:
        message = message.split(" ", 2)[2]
    return LoggedError(
        (log,) if is_unit else parse_log_name(log),
        parse_integer(count),
        parse_time(begin),
        parse_time(first),
        parse_time(last),
        shorten_message(redact(strip_prefix(message if is_unit else line))),
    )


def parse_log_name(text: str) -> tuple[str, ...]:
    """Parse NAMESPACE_POD_UID/CONTAINER. None of these names has an underscore."""
    (namespace, pod, _), container = text.partition("/")[0].split("_"), text.partition("/")[2]
    return namespace, pod, container


def parse_time(text: str) -> datetime:
    if not (time := parse_optional_time(text)):
        raise ValueError(text)
    return time


LOGGED_ERRORS = Probe(
    "host.logged-errors",
    Lines(
        read_script(__file__, "logged_errors.sh").replace(
            "UNITS", " ".join(sorted(PLATFORM_UNITS - {"containerd", "kubelet"}))
        )
    ),
    parse_logged_errors,
    limit=10,
    manual_command="tail /var/log/pods/*/*/*.log; journalctl -p err --since -5min",
)
