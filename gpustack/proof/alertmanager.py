"""Alertmanager's API v2, and its own counters of what it sent (openapi.yaml and notify/metrics.go of 0.34.0)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from gpustack.probes.parsing import yaml_mapping
from gpustack.proof.http import NoAnswer, Web

SENT, REFUSED = "alertmanager_notification_requests_total", "alertmanager_notification_requests_failed_total"
GIVEN_UP = "alertmanager_notifications_failed_total"
BEGAN = "process_start_time_seconds"
SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(?<!\w)(\w++)="((?:[^"\\]|\\.)*+)"')
ENDING = "_configs"
Integrations = Mapping[str, tuple[str, ...]]
"""By receiver: webhook, slack, …, one that it has twice twice."""


@dataclass(frozen=True)
class Counts:
    """By receiver and integration (webhook, slack, …): attempts, attempts that failed, and with the reason those that
    were given up. The receiver is empty where Alertmanager does not count by it. `process` is the second in which it
    began."""

    process: str = ""
    sent: Mapping[tuple[str, str], float] = field(default_factory=dict)
    refused: Mapping[tuple[str, str], float] = field(default_factory=dict)
    given_up: Mapping[tuple[str, str, str], float] = field(default_factory=dict)

    def since(self, before: "Counts") -> "Counts":
        return Counts(
            self.process,
            {key: count - before.sent.get(key, 0) for key, count in self.sent.items()},
            {key: count - before.refused.get(key, 0) for key, count in self.refused.items()},
            {key: count - before.given_up.get(key, 0) for key, count in self.given_up.items()},
        )


@dataclass(frozen=True)
class RoutedAlert:
    """An alert as Alertmanager has it. `muted` says why it sends nothing about it, or is empty."""

    receivers: tuple[str, ...]
    muted: str
    began: datetime


@dataclass(frozen=True)
class Alertmanager:
    """`web` leads to it. Every method raises NoAnswer."""

    web: Web

    def integrations(self) -> Integrations:
        try:
            answer = yaml_mapping(self.get("/api/v2/status")["config"]["original"])
            found = {str(one["name"]): list_integrations(one) for one in answer.get("receivers", ())}
        except (ValueError, LookupError, TypeError) as error:
            raise NoAnswer("Alertmanager answered its configuration in another shape") from error
        return found

    def counts(self) -> Counts:
        status, text = self.web.text("GET", "/metrics")
        if status != 200:
            raise NoAnswer(f"Alertmanager refused its counters (HTTP {status})")
        return parse_counts(text)

    def post(self, alert: Mapping[str, Any]) -> None:
        status, answer = self.web.post("/api/v2/alerts", [alert])
        if status != 200:
            raise NoAnswer(f"Alertmanager refused the alert (HTTP {status}): {answer}")

    def find_alert(self, labels: Mapping[str, str]) -> RoutedAlert | None:
        matchers = [quote(f'{name}="{value}"', safe="") for name, value in labels.items()]
        found = self.get(f"/api/v2/alerts?{'&'.join(f'filter={matcher}' for matcher in matchers)}")
        try:
            return next((parse_alert(one) for one in found), None)
        except (ValueError, LookupError, TypeError) as error:
            raise NoAnswer("Alertmanager answered the alert in another shape") from error

    def get(self, path: str) -> Any:
        status, answer = self.web.get(path)
        if status != 200:
            raise NoAnswer(f"Alertmanager refused the question (HTTP {status}): {answer}")
        return answer


def list_integrations(receiver: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        key.removesuffix(ENDING) for key, found in receiver.items() if key.endswith(ENDING) for _ in found or ()
    )


def parse_alert(answer: Mapping[str, Any]) -> RoutedAlert:
    status = answer["status"]
    reasons = {
        "silenced by": status.get("silencedBy"),
        "inhibited by": status.get("inhibitedBy"),
        "muted by": status.get("mutedBy"),
    }
    muted = "; ".join(f"{how} {', '.join(map(str, by))}" for how, by in reasons.items() if by)
    names = tuple(str(one["name"]) for one in answer["receivers"])
    return RoutedAlert(names, muted, datetime.fromisoformat(answer["startsAt"]))


def parse_counts(text: str) -> Counts:
    """Of the text format of Prometheus."""
    found: dict[str, dict[Any, float]] = {SENT: {}, REFUSED: {}, GIVEN_UP: {}}
    process = ""
    for line in text.splitlines():
        match = SAMPLE.match(line)
        if match is None:
            continue
        name, labels, value = match[1], dict(LABEL.findall(match[2] or "")), match[3]
        if name == BEGAN:
            process = value
        elif name in found:
            way = (labels.get("receiver_name", ""), labels.get("integration", ""))
            key: Any = (*way, labels.get("reason", "")) if name == GIVEN_UP else way
            found[name][key] = found[name].get(key, 0.0) + parse_number(value)
    # Where it counts by receiver and none has an integration, there is nothing to count.
    if not process or "\nalertmanager_" not in f"\n{text}":
        raise NoAnswer("Alertmanager's counters have another shape")
    return Counts(process, found[SENT], found[REFUSED], found[GIVEN_UP])


def parse_number(value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise NoAnswer("Alertmanager's counters have another shape") from error


def build_alert(
    labels: Mapping[str, str], annotations: Mapping[str, str], ends: datetime | None = None, url: str = ""
) -> dict[str, Any]:
    """A postable alert. Without an end Alertmanager ends it by itself after resolve_timeout, five minutes by default:
    so it does where we are killed."""
    body: dict[str, Any] = {"labels": dict(labels), "annotations": dict(annotations)}
    if ends:
        body["endsAt"] = ends.isoformat()
    return body | ({"generatorURL": url} if url else {})


def end_time(began: datetime, passed: float) -> datetime:
    """By Alertmanager's own clock, `passed` seconds after the alert began; ours may go wrong."""
    return began + timedelta(seconds=passed)
