"""The series that recording rules write, as values/rules/gpu-recording.yaml declares them, and who reads a series."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from gpustack.config.resources import locate_shipped_values, read_shipped_yaml
from gpustack.files.json_text import load_json
from gpustack.vocabulary.fields import extract_sentence, find_fields, find_original, list_spellings

NAME = re.compile(r"\b(?:gpustack:[a-z0-9_:]+|DCGM_[A-Z0-9_]+|kube_[a-z_]+)")
RECORD = re.compile(r"(?m)^ +(?:# (?P<comment>.+)\n +)?- record: (?P<name>\S+)$")
SUFFIXES = {
    "bool": "1 or 0",
    "bytes": "bytes",
    "bytes_per_second": "bytes a second",
    "celsius": "degrees Celsius",
    "code": "a code",
    "count": "a number",
    "count5m": "a number in 5 minutes",
    "hertz": "hertz",
    "info": "1, with what is told in its labels",
    "joules_total": "joules, a counter",
    "max1d": "the maximum of a day",
    "max30m": "the maximum of 30 minutes",
    "mean10m": "the mean of 10 minutes",
    "median": "the median",
    "min30m": "the minimum of 30 minutes",
    "mode": "a mode",
    "number": "a number",
    "quantile25": "the lower quartile",
    "rank": "a rank",
    "rate5m": "a rate of 5 minutes, a second",
    "ratio": "a share, 0 to 1",
    "ratio_rate5m": "a share of the last 5 minutes, 0 to 1",
    "seconds": "seconds",
    "seconds_total": "seconds, a counter",
    "state": "a state",
    "status": "a status",
    "total": "a counter",
    "up": "1 or 0",
    "watts": "watts",
    "watts_rate5m": "watts, the mean of 5 minutes",
}


@dataclass(frozen=True)
class RecordedSeries:
    """Describe a recorded series. `meaning` is the comment of its rule, else what the field means that it is of, and
    may be empty. `sources` are the fields and recorded series that its rules read, `interval` is that of its rules."""

    name: str
    meaning: str
    sources: tuple[str, ...]
    interval: str

    @property
    def unit(self) -> str:
        """Return the unit, or the aggregation, which is the last part of the name."""
        return SUFFIXES[self.name.rpartition(":")[2]]


@cache
def load_recorded_series() -> Mapping[str, RecordedSeries]:
    """Load the recorded series by name. Several rules may write one, for values of a label."""
    path = locate_shipped_values() / "rules" / "gpu-recording.yaml"
    comments = {
        match["name"]: match["comment"]
        for match in RECORD.finditer(path.read_text(encoding="utf-8"))
        if match["comment"]
    }
    series: dict[str, RecordedSeries] = {}
    for group in read_shipped_yaml(path)["groups"]:
        for rule in group["rules"]:
            name = rule["record"]
            earlier = series[name].sources if name in series else ()
            sources = (source for source in NAME.findall(rule["expr"]) if source != name)
            all_sources = tuple(dict.fromkeys((*earlier, *sources)))
            meaning = comments.get(name) or describe_source(all_sources)
            series[name] = RecordedSeries(name, meaning, all_sources, group["interval"])
    return series


def describe_source(sources: Sequence[str]) -> str:
    """Describe the one field that all sources are spellings of. Return an empty string where there are others."""
    fields = find_fields(sources[0]) if sources else ()
    if not fields or not {*sources} <= {*list_spellings(frozenset({find_original(fields[0]).name}))}:
        return ""
    return f"{extract_sentence(fields[0])}."


@cache
def index_alerts() -> Mapping[str, tuple[str, ...]]:
    """Index the alerts by the series that their expressions read."""
    path = locate_shipped_values() / "rules" / "gpu-alerts.yaml"
    rules = [rule for group in read_shipped_yaml(path)["groups"] for rule in group["rules"]]
    return collect_readers((rule["alert"], rule["expr"]) for rule in rules)


@cache
def index_panels() -> Mapping[str, tuple[str, ...]]:
    """Index the panels, as `GPU detail: Temperature`, by the series that their queries read."""
    boards = [
        load_json(path.read_text(encoding="utf-8"))
        for path in sorted((locate_shipped_values() / "dashboards").glob("*.json"))
    ]
    return collect_readers(
        (f"{board['title']}: {panel['title']}", target["expr"])
        for board in boards
        for panel in board["panels"]
        for target in panel.get("targets", ())
    )


def collect_readers(readers: Iterator[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    """Collect the names of readers by the series that their expressions have."""
    names: dict[str, dict[str, None]] = {}
    for reader, expression in readers:
        for name in NAME.findall(expression):
            names.setdefault(name, {})[reader] = None
    return {name: tuple(readers) for name, readers in names.items()}
