"""Units of systemd that failed, or that it starts again and again, with the last lines of their processes."""

from dataclasses import dataclass
from datetime import UTC, datetime

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.log_lines import strip_prefix
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import split_sections

SIGNAL_CODES = ("2", "3")
"""Values of ExecMainCode for a process that a signal ended: CLD_KILLED and CLD_DUMPED of waitid(2). Its status is then
the number of the signal."""


@dataclass(frozen=True)
class FailedUnit:
    """Describe a unit that failed. `result` is systemd's word (exit-code, signal, timeout, …), `ending` how its main
    process ended, empty where there was none; `restarts` counts those of systemd; `messages` are the last lines of its
    processes, `changed_at` is when it came into this state, by the clock of the host."""

    name: str
    result: str
    ending: str
    restarts: int
    messages: tuple[str, ...]
    changed_at: datetime | None


def parse_failed_units(answer: Answer) -> tuple[FailedUnit, ...]:
    """Parse the failed units. Raise ValueError or KeyError where a section has another shape."""
    return tuple(parse_failed_unit(name, lines) for name, lines in split_sections(answer.stdout))


def parse_failed_unit(name: str, lines: list[str]) -> FailedUnit:
    properties = dict(line.split("=", 1) for line in lines if not line.startswith("| "))
    messages = tuple(shorten_message(strip_prefix(line[2:])) for line in lines if line.startswith("| ") and line[2:])
    code, status = properties.get("ExecMainCode", "0"), properties.get("ExecMainStatus", "0")
    ended_by = "signal" if code in SIGNAL_CODES else "exit status"
    changed_at = properties.get("ChangedAt")
    return FailedUnit(
        name,
        properties["Result"],
        "" if code == "0" else f"{ended_by} {parse_integer(status)}",
        parse_integer(properties.get("NRestarts", "0")),
        messages,
        datetime.fromtimestamp(parse_integer(changed_at), UTC) if changed_at else None,
    )


FAILED_UNITS = Probe(
    "units.failed",
    Lines(read_script(__file__, "failed_units.sh")),
    parse_failed_units,
    manual_command="systemctl --failed; systemctl list-units --state=auto-restart",
)
