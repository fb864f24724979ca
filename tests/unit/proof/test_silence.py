"""A silence is for alerts of load, for these nodes, and until a time."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from gpustack.errors import UnreachableError
from gpustack.events import Event
from gpustack.proof import silence as module
from gpustack.proof.http import NoAnswer, Web
from gpustack.proof.silence import (
    EXPECTED_ALERTS,
    FIRES_ON,
    build_silence,
    leave_silence,
    silence,
    silence_alerts,
)

RULES = Path(__file__).parents[3] / "values" / "rules" / "gpu-alerts.yaml"


class FakeAlertmanager(Web):
    """An Alertmanager that keeps what it was asked."""

    def post(self, path: str, document: Any) -> tuple[int, Any]:
        ASKED_REQUESTS.append(f"POST {path}")
        SILENCES.append(document)
        if "id" in document:
            raise NoAnswer("gone")
        return ANSWERS[0]


ASKED_REQUESTS: list[str] = []
SILENCES: list[dict[str, Any]] = []
ANSWERS: list[tuple[int, Any]] = [(200, {"silenceID": "s1"})]


def test_the_silence_lasts_as_long_as_alerts_fire_on() -> None:
    SILENCES.clear()
    with silence(FakeAlertmanager("Alertmanager", "127.0.0.1", 9093), ["gpu1"], 600, "ann", "load") as reason:
        assert reason == ""
    silence_at_begin, silence_at_end = SILENCES
    assert silence_at_end == {**silence_at_begin, "id": "s1", "endsAt": silence_at_end["endsAt"]}
    planned_end, end = (datetime.fromisoformat(document["endsAt"]) for document in SILENCES)
    assert planned_end - end > timedelta(seconds=590)
    assert end - datetime.now(UTC) > timedelta(seconds=FIRES_ON - 10)


def test_a_refused_silence_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    ASKED_REQUESTS.clear()
    monkeypatch.setitem(globals(), "ANSWERS", [(403, "no")])
    with silence(FakeAlertmanager("Alertmanager", "127.0.0.1", 9093), ["gpu1"], 600, "ann", "load") as reason:
        assert reason == "Alertmanager refused the silence (HTTP 403): no"
    assert ASKED_REQUESTS == ["POST /api/v2/silences"]


def test_the_silence_matches_alerts_of_the_nodes_alone() -> None:
    silence = build_silence(["gpu1.a", "gpu2"], 600, "ann", "diag")
    by_name = {matcher["name"]: re.compile(matcher["value"]) for matcher in silence["matchers"]}
    assert by_name["node"].fullmatch("gpu2")
    assert not by_name["node"].fullmatch("gpu1xa")
    assert by_name["alertname"].fullmatch("GpuMetricsAbsent")
    assert not by_name["alertname"].fullmatch("GpuXidCritical")
    began, ends = (datetime.fromisoformat(silence[key]) for key in ("startsAt", "endsAt"))
    assert (ends - began).total_seconds() == 600 + FIRES_ON


def test_silenced_alerts_exist() -> None:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    alerts = {rule["alert"]: rule["labels"]["severity"] for group in groups for rule in group["rules"]}
    for expected_alerts in EXPECTED_ALERTS.values():
        assert set(expected_alerts) <= set(alerts)
        assert not {"GpuNearShutdown", "GpuXidCritical", "GpuEccUncorrected"} & set(expected_alerts)


def test_alerts_fire_on_no_longer_than_their_silence() -> None:
    """They fire on for as long as the expression looks back, and for keep_firing_for. What GpuLost and
    GpuProfilingMissing look for in the past does not prolong them."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    rules = {rule["alert"]: rule for group in groups for rule in group["rules"]}
    minutes = []
    for alert in {alert for alerts in EXPECTED_ALERTS.values() for alert in alerts}:
        expr = "" if alert in ("GpuLost", "GpuProfilingMissing") else rules[alert]["expr"]
        ranges = [int(number) for number in re.findall(r"(?:\[|rate|count)(\d+)m\b", expr)]
        minutes.append(max(ranges, default=0) + int(rules[alert]["keep_firing_for"].removesuffix("m")))
    assert max(minutes) == FIRES_ON // 60 - 1


@pytest.mark.parametrize(
    ("answer", "error", "note"),
    [
        ((200, {"silenceID": "s1"}), "", ""),
        ((403, "no"), "", "Alertmanager refused the silence (HTTP 403): no"),
        ((200, {}), "No host could be reached.", "No host could be reached"),
        ((200, {}), "Nothing listens at Alertmanager; nothing was created.", "Nothing listens at Alertmanager"),
        ((200, {}), "It answered: a; b. Asked again.", "It answered: a; b. Asked again"),
    ],
)
def test_a_change_without_a_silence_is_noted_and_goes_on(
    answer: tuple[int, Any], error: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def open_part(part: str, *_: object) -> Iterator[tuple[str, int]]:
        assert part == "alertmanager"
        if error:
            raise UnreachableError("no-host-reached", error)
        yield "127.0.0.1", 9093

    events, results = list[Event](), list[str]()
    run: Any = SimpleNamespace(hosts=None, record=events.append, lock=SimpleNamespace(holder="ann@desk"))
    monkeypatch.setitem(globals(), "ANSWERS", [answer])
    monkeypatch.setattr(module, "open_part", open_part)
    monkeypatch.setattr(module, "Web", FakeAlertmanager)
    with silence_alerts(run, ["gpu1"], 600, "load"):
        results.append("loaded")
    leave_silence(run, ["gpu1"], 600, "pause")
    leave_silence(run, ["gpu1"], 600, "reboot")
    assert results == ["loaded"]
    messages = (
        [f"alerts of the {cause} are not silenced: {note}" for cause in ("test", "pause", "reboot")] if note else []
    )
    assert [event.message for event in events] == messages


def test_the_silence_of_a_pause_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def open_part(*_: object) -> Iterator[tuple[str, int]]:
        yield "127.0.0.1", 9093

    ASKED_REQUESTS.clear()
    run: Any = SimpleNamespace(hosts=None, record=None, lock=SimpleNamespace(holder="ann@desk"))
    monkeypatch.setattr(module, "open_part", open_part)
    monkeypatch.setattr(module, "Web", FakeAlertmanager)
    leave_silence(run, ["gpu1"], 1800, "pause")
    assert ASKED_REQUESTS == ["POST /api/v2/silences"]
