"""Client of Alertmanager's API v2 and of its counters of notifications (openapi.yaml and notify/metrics.go of
0.34.0)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from gpustack.ask.probe import UNREADABLE
from gpustack.probes.parsing import parse_yaml_mapping
from gpustack.proof.http import NoAnswer, Web

REQUESTS = "alertmanager_notification_requests_total"
FAILED_REQUESTS = "alertmanager_notification_requests_failed_total"
FAILED_NOTIFICATIONS = "alertmanager_notifications_failed_total"
START_TIME = "process_start_time_seconds"
ENDING = "_configs"
Integrations = Mapping[str, tuple[str, ...]]
"""Integrations (webhook, slack, …) by receiver. A receiver with two of a kind has it twice."""


@dataclass(frozen=True)
class Counts:
    """Hold the counters of Alertmanager by receiver and integration (webhook, slack, …). `requests` are attempts,
    `failed_requests` failed attempts, and `failed_notifications` the notifications that were given up, by reason as
    well. The receiver is empty where Alertmanager does not count by receiver. `process` is its start time in seconds
    since 1970."""

    process: float = 0.0
    requests: Mapping[tuple[str, str], float] = field(default_factory=dict)
    failed_requests: Mapping[tuple[str, str], float] = field(default_factory=dict)
    failed_notifications: Mapping[tuple[str, str, str], float] = field(default_factory=dict)

    def subtract_counts(self, before: "Counts") -> "Counts":
        """Return the increase since earlier counters."""
        return Counts(
            self.process,
            {key: count - before.requests.get(key, 0) for key, count in self.requests.items()},
            {key: count - before.failed_requests.get(key, 0) for key, count in self.failed_requests.items()},
            {key: count - before.failed_notifications.get(key, 0) for key, count in self.failed_notifications.items()},
        )


@dataclass(frozen=True)
class RoutedAlert:
    """Describe an alert in Alertmanager. `mute_reason` is why Alertmanager sends no notification, or is empty."""

    receivers: tuple[str, ...]
    mute_reason: str
    began: datetime


@dataclass(frozen=True)
class Alertmanager:
    """Query Alertmanager through `web`. Every method raises NoAnswer."""

    web: Web

    def fetch_configuration(self) -> Mapping[str, Any]:
        """Fetch the configuration that Alertmanager runs with, in which it hides secrets."""
        try:
            return parse_yaml_mapping(self.get("/api/v2/status")["config"]["original"])
        except UNREADABLE as error:
            raise NoAnswer("Alertmanager answered its configuration in another shape") from error

    def fetch_integrations(self) -> Integrations:
        answer = self.fetch_configuration()
        try:
            integrations = {
                str(receiver["name"]): list_integrations(receiver) for receiver in answer.get("receivers", ())
            }
        except UNREADABLE as error:
            raise NoAnswer("Alertmanager answered its configuration in another shape") from error
        return integrations

    def fetch_counts(self) -> Counts:
        status, text = self.web.request_text("GET", "/metrics")
        if status != 200:
            raise NoAnswer(f"Alertmanager refused its counters (HTTP {status})")
        return parse_counts(text)

    def post_alert(self, alert: Mapping[str, Any]) -> None:
        status, answer = self.web.post("/api/v2/alerts", [alert])
        if status != 200:
            raise NoAnswer(f"Alertmanager refused the alert (HTTP {status}): {answer}")

    def find_alert(self, labels: Mapping[str, str]) -> RoutedAlert | None:
        matchers = [quote(f'{name}="{value}"', safe="") for name, value in labels.items()]
        alerts = self.get(f"/api/v2/alerts?{'&'.join(f'filter={matcher}' for matcher in matchers)}")
        try:
            return next((parse_alert(alert) for alert in alerts), None)
        except UNREADABLE as error:
            raise NoAnswer("Alertmanager answered the alert in another shape") from error

    def get(self, path: str) -> Any:
        status, answer = self.web.get(path)
        if status != 200:
            raise NoAnswer(f"Alertmanager refused the query (HTTP {status}): {answer}")
        return answer


def list_integrations(receiver: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        key.removesuffix(ENDING) for key, configs in receiver.items() if key.endswith(ENDING) for _ in configs or ()
    )


def parse_alert(answer: Mapping[str, Any]) -> RoutedAlert:
    status = answer["status"]
    reasons = {
        "silenced by": status.get("silencedBy"),
        "inhibited by": status.get("inhibitedBy"),
        "muted by": status.get("mutedBy"),
    }
    mute_reason = "; ".join(
        f"{relation} {', '.join(map(str, causes))}" for relation, causes in reasons.items() if causes
    )
    names = tuple(str(receiver["name"]) for receiver in answer["receivers"])
    return RoutedAlert(names, mute_reason, datetime.fromisoformat(answer["startsAt"]))


def parse_counts(text: str) -> Counts:
    """Parse the counters from the text format of Prometheus. Raise NoAnswer for other text."""
    from prometheus_client.parser import text_string_to_metric_families

    try:
        families = tuple(text_string_to_metric_families(text))
        samples = [sample._replace(value=float(sample.value)) for family in families for sample in family.samples]
    except UNREADABLE as error:
        raise NoAnswer("Alertmanager's counters have another shape") from error
    counters: dict[str, dict[Any, float]] = {REQUESTS: {}, FAILED_REQUESTS: {}, FAILED_NOTIFICATIONS: {}}
    for sample in samples:
        if sample.name in counters:
            labels = ("receiver_name", "integration", *(("reason",) if sample.name == FAILED_NOTIFICATIONS else ()))
            key = tuple(sample.labels.get(label, "") for label in labels)
            counters[sample.name][key] = counters[sample.name].get(key, 0.0) + sample.value
    process = next((sample.value for sample in samples if sample.name == START_TIME), None)
    # Alertmanager has no counters of notifications while no receiver has an integration.
    if not process or not any(sample.name.startswith("alertmanager_") for sample in samples):
        raise NoAnswer("Alertmanager's counters have another shape")
    return Counts(process, counters[REQUESTS], counters[FAILED_REQUESTS], counters[FAILED_NOTIFICATIONS])


def build_alert(
    labels: Mapping[str, str], annotations: Mapping[str, str], ends: datetime | None = None, url: str = ""
) -> dict[str, Any]:
    """Build a postable alert. An alert without an end is resolved after resolve_timeout, five minutes by default, which
    also happens when gpustack is killed."""
    body: dict[str, Any] = {"labels": dict(labels), "annotations": dict(annotations)}
    if ends:
        body["endsAt"] = ends.isoformat()
    return body | ({"generatorURL": url} if url else {})


def compute_end(began: datetime, seconds: float) -> datetime:
    """Compute the end of an alert, `seconds` after its start. Both are by Alertmanager's clock, as the local clock may
    differ."""
    return began + timedelta(seconds=seconds)
