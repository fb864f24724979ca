"""Silences of Alertmanager that are in force, and the alerts that they hold back.

Answers: prometheus/alertmanager api/v2/openapi.yaml. Silences have Go's regular expressions, anchored at both ends.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.monitoring.workloads import ALERTMANAGER
from gpustack.probes.parsing import parse_optional_time

ANY_VALUE = (".*", ".+", "^.*$", "^.+$", "(.*)", "(.+)")
"""Expressions that take every value that is not empty."""


@dataclass(frozen=True)
class Silence:
    """Describe a silence in force. `selectors` are its matchers as amtool writes them; `takes_all` says that none of
    them leaves an alert out. `author` and `words` are those of the person who made it."""

    id: str
    selectors: tuple[str, ...]
    takes_all: bool
    author: str
    words: str
    begins_at: datetime | None
    ends_at: datetime | None


@dataclass(frozen=True)
class SilencedAlert:
    """Describe an alert that Alertmanager has and does not send: `silences` are the ids of those that match it."""

    name: str
    severity: str
    silences: tuple[str, ...]


def parse_silences(answer: Answer) -> tuple[Silence, ...]:
    """Parse the silences in force. Raise ValueError where the answer is no list."""
    return tuple(parse_silence(entry) for entry in load_list(answer) if entry["status"]["state"] == "active")


def parse_silence(entry: Any) -> Silence:
    matchers = entry["matchers"]
    return Silence(
        entry["id"],
        tuple(format_matcher(matcher) for matcher in matchers),
        all(is_open(matcher) for matcher in matchers),
        entry.get("createdBy", ""),
        shorten_message(" ".join(str(entry.get("comment", "")).split())),
        parse_optional_time(entry.get("startsAt")),
        parse_optional_time(entry.get("endsAt")),
    )


def is_open(matcher: Any) -> bool:
    """Tell whether a matcher is open: it takes every alert that has its label; each alert has a name and a severity."""
    return bool(matcher["isRegex"]) and matcher.get("isEqual", True) and matcher["value"] in ANY_VALUE


def format_matcher(matcher: Any) -> str:
    operator = ("=" if matcher.get("isEqual", True) else "!") + ("~" if matcher["isRegex"] else "=")
    return f'{matcher["name"]}{operator.removesuffix("=") if operator == "==" else operator}"{matcher["value"]}"'


def parse_silenced_alerts(answer: Answer) -> tuple[SilencedAlert, ...]:
    """Parse the alerts that a silence holds back. Raise ValueError where the answer is no list."""
    return tuple(
        SilencedAlert(
            alert["labels"].get("alertname", ""),
            alert["labels"].get("severity", ""),
            tuple(alert["status"]["silencedBy"]),
        )
        for alert in load_list(answer)
        if alert["status"]["silencedBy"]
    )


def load_list(answer: Answer) -> list[Any]:
    entries = load_json(answer.stdout)
    if not isinstance(entries, list):
        raise ValueError(shorten_message(answer.stdout))
    return entries


SILENCES = Probe(
    "alerting.silences",
    Api(
        f"{ALERTMANAGER}/api/v2/silences",
        ("id", "status.state", "matchers", "createdBy", "comment", "startsAt", "endsAt"),
    ),
    parse_silences,
)
SILENCED_ALERTS = Probe(
    "alerting.silenced",
    Api(
        f"{ALERTMANAGER}/api/v2/alerts?active=false&inhibited=false&unprocessed=false",
        ("labels.alertname", "labels.severity", "status.silencedBy"),
    ),
    parse_silenced_alerts,
)
