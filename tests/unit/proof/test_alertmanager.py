"""Alertmanager's answers: counters, the alert as it has it, its configuration, and what is none of these."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from gpustack.proof.alertmanager import Alertmanager, Counts, build_alert, compute_end, parse_counts
from gpustack.proof.http import NoAnswer, Web

# Of an Alertmanager 0.31.1; most integrations are left out.
METRICS = """\
# HELP alertmanager_notification_requests_failed_total The total number of failed notification requests.
# TYPE alertmanager_notification_requests_failed_total counter
alertmanager_notification_requests_failed_total{integration="email"} 0
alertmanager_notification_requests_failed_total{integration="webhook"} 8
# TYPE alertmanager_notification_requests_total counter
alertmanager_notification_requests_total{integration="email"} 0
alertmanager_notification_requests_total{integration="webhook"} 10
alertmanager_notifications_failed_total{integration="webhook",reason="clientError"} 1
alertmanager_notifications_failed_total{integration="webhook",reason="other"} 0
alertmanager_notifications_total{integration="webhook"} 4
process_start_time_seconds 1.79531169524e+09
"""
ALERT = {
    "annotations": {"summary": "A test"},
    "endsAt": "2026-11-22T01:39:54.900Z",
    "fingerprint": "3d1e",
    "receivers": [{"name": "gpustack"}],
    "startsAt": "2026-11-22T01:34:54.900Z",
    "status": {"inhibitedBy": [], "mutedBy": [], "silencedBy": [], "state": "active"},
    "updatedAt": "2026-11-22T01:34:54.900Z",
    "labels": {"alertname": "GpustackTest", "test": "904b300f"},
}
CONFIG = """\
route: {receiver: "null"}
receivers:
- name: "null"
- name: gpustack
  webhook_configs: [{url_file: /s}]
  email_configs: []
- name: both
  slack_configs: [{api_url: <secret>}]
  pagerduty_configs: [{routing_key: <secret>}, {routing_key: <secret>}]
"""


class Answers(Web):
    def __init__(self, **answers: tuple[int, Any]) -> None:
        super().__init__("Alertmanager", "127.0.0.1", 1)
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "requests", [])

    def request_text(self, verb: str, path: str, body: str | None = None) -> tuple[int, str]:
        self.requests.append((verb, path, body))  # type: ignore[attr-defined]
        status, value = next(answer for word, answer in self.answers.items() if word in path)  # type: ignore[attr-defined]
        return status, value if isinstance(value, str) else json.dumps(value)


def test_counters_are_parsed_by_integration() -> None:
    counts = parse_counts(METRICS)
    assert counts.process == 1795311695.24
    mail, hook = ("", "email"), ("", "webhook")
    assert (counts.requests, counts.failed_requests) == ({mail: 0, hook: 10}, {mail: 0, hook: 8})
    assert counts.failed_notifications == {(*hook, "clientError"): 1, (*hook, "other"): 0}


def test_counters_are_parsed_by_receiver() -> None:
    line = 'alertmanager_notification_requests_total{integration="webhook",receiver_name="%s"} %d\n'
    counts = parse_counts(line % ("a", 2) + line % ('b\\"{}, x=\\"1', 3) + "process_start_time_seconds 1\n")
    assert counts.requests == {("a", "webhook"): 2, ('b"{}, x="1', "webhook"): 3}


def test_added_counts_are_differences() -> None:
    before, after = (
        parse_counts(METRICS),
        parse_counts(METRICS.replace('{integration="webhook"} 10', '{integration="webhook"} 12')),
    )
    added_counts = after.subtract_counts(before)
    assert (added_counts.requests["", "webhook"], added_counts.failed_requests["", "webhook"]) == (2, 0)
    assert parse_counts(METRICS).subtract_counts(Counts()).requests["", "webhook"] == 10


@pytest.mark.parametrize(
    "text", ["", "<html>", "process_start_time_seconds 1\n", METRICS.replace("} 10", "} ten"), METRICS + "x"]
)
def test_text_without_counters_is_no_answer(text: str) -> None:
    with pytest.raises(NoAnswer, match="shape"):
        parse_counts(text)


def test_an_alert_is_read_as_alertmanager_has_it() -> None:
    web = Answers(alerts=(200, [ALERT]))
    alert = Alertmanager(web).find_alert({"alertname": "GpustackTest", "test": "904b300f"})
    assert alert
    assert (alert.receivers, alert.mute_reason) == (("gpustack",), "")
    assert alert.began == datetime(2026, 11, 22, 1, 34, 54, 900000, UTC)
    ((_, path, _),) = web.requests  # type: ignore[attr-defined]
    filters = [value for _, value in parse_qsl(urlsplit(path).query)]
    assert filters == ['alertname="GpustackTest"', 'test="904b300f"']


def test_a_missing_alert_is_none_and_a_muted_one_has_its_reason() -> None:
    assert Alertmanager(Answers(alerts=(200, []))).find_alert({}) is None
    status = {"inhibitedBy": ["a1", "b2"], "silencedBy": ["c3"], "mutedBy": []}
    alert = Alertmanager(Answers(alerts=(200, [ALERT | {"status": status}]))).find_alert({})
    assert alert
    assert alert.mute_reason == "silenced by c3; inhibited by a1, b2"


def test_integrations_of_receivers_are_read() -> None:
    integrations = Alertmanager(Answers(status=(200, {"config": {"original": CONFIG}}))).fetch_integrations()
    assert integrations == {"null": (), "gpustack": ("webhook",), "both": ("slack", "pagerduty", "pagerduty")}


@pytest.mark.parametrize(
    "value", ["Not Found", {}, [], {"config": {"original": "- 1"}}, {"config": {"original": "a: *b"}}]
)
def test_answers_of_another_shape_are_no_answers(value: Any) -> None:
    alertmanager = Alertmanager(Answers(status=(200, value), alerts=(200, {"a": 1}), metrics=(200, "")))
    for ask in (alertmanager.fetch_integrations, lambda: alertmanager.find_alert({}), alertmanager.fetch_counts):
        with pytest.raises(NoAnswer, match="shape"):
            ask()


def test_refusals_are_no_answers() -> None:
    alertmanager = Alertmanager(Answers(status=(500, "x"), alerts=(503, "shutting down"), metrics=(404, "")))
    for ask in (alertmanager.fetch_integrations, lambda: alertmanager.find_alert({}), alertmanager.fetch_counts):
        with pytest.raises(NoAnswer, match="HTTP"):
            ask()
    with pytest.raises(NoAnswer, match=r"HTTP 503.*shutting down"):
        alertmanager.post_alert({})


def test_an_alert_ends_by_alertmanager_s_own_clock() -> None:
    began = datetime(2026, 11, 22, 1, 0, 0, tzinfo=UTC)
    assert build_alert({"a": "b"}, {}, compute_end(began, 2.5))["endsAt"] == "2026-11-22T01:00:02.500000+00:00"
    assert build_alert({"a": "b"}, {"c": "d"}) == {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    assert build_alert({}, {}, url="https://x")["generatorURL"] == "https://x"
