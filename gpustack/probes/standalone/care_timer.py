"""The timer of the daily diagnostic on a host without Kubernetes, and the files that tell its results.

node-exporter tells when each file of its folder was changed (`node_textfile_mtime_seconds`, collector textfile), so an
empty file for each result is all that a metric needs. The folder is that of Debian's and Ubuntu's package.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import FLAGS
from gpustack.vocabulary.care_jobs import PREFIX

SERVICE, TIMER = "gpu-care.service", "gpu-care.timer"
FOLDER = "/var/lib/prometheus/node-exporter"


@dataclass(frozen=True)
class CareTimer:
    """Describe the timer. `digests` are the SHA-256 of the unit files that exist, by unit, `stale_units` those that
    systemd has not read since they changed, and `results` the names of the files of results."""

    digests: Mapping[str, str]
    stale_units: frozenset[str]
    active: bool
    enabled: bool
    results: frozenset[str]


def parse_care_timer(answer: Answer) -> CareTimer:
    """Parse the timer. Raise ValueError or KeyError where the answer has another shape."""
    digests, stale_units, results, states = dict[str, str](), set[str](), set[str](), list[tuple[bool, bool]]()
    for line in answer.stdout.splitlines():
        kind, *words = line.split(" ")
        if kind == "unit":
            unit, digest, needs_reload = words
            if unit not in (SERVICE, TIMER):
                raise ValueError(line[:80])
            digests[unit] = digest
            if FLAGS[needs_reload]:
                stale_units.add(unit)
        elif kind == "timer":
            active_state, enabled_state = words
            states.append((active_state == "active", enabled_state == "enabled"))
        elif kind == "result":
            (name,) = words
            results.add(name)
        else:
            raise ValueError(line[:80])
    ((is_active, is_enabled),) = states
    return CareTimer(digests, frozenset(stale_units), is_active, is_enabled, frozenset(results))


SCRIPT = read_script(__file__, "care_timer.sh").replace("UNITS", f"{SERVICE} {TIMER}").replace("TIMER", TIMER)
CARE_TIMER = Probe(
    "standalone.care-timer",
    Lines(SCRIPT.replace("FOLDER", FOLDER).replace("PREFIX", PREFIX)),
    parse_care_timer,
    manual_command=f"systemctl list-timers {TIMER}",
)
