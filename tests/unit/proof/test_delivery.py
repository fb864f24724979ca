"""A test alert: delivered, failed or not known, by what Alertmanager's counters say, and ended in any case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gpustack.events import Event
from gpustack.proof.alertmanager import Counts, RoutedAlert
from gpustack.proof.delivery import REASONS, Arrival, Deliveries, Delivery, Outcome, Trial, run_trials
from gpustack.proof.http import NoAnswer

BEGAN = datetime(2026, 11, 22, 1, 0, 0, tzinfo=UTC)
HOOK, SLACK = ("a", "webhook"), ("b", "slack")
ZERO = Counts(1.0, {HOOK: 5, SLACK: 0}, {HOOK: 2}, {(*HOOK, "other"): 1, (*HOOK, "clientError"): 0})
ROUTED_ALERT = RoutedAlert(("a",), "", BEGAN)


@dataclass
class FakeAlertmanager:
    """An Alertmanager: `looks` are what it says of alert and counters, the last one again and again."""

    looks: list[tuple[Any, Any]]
    receivers: Any = field(default_factory=lambda: {"a": ("webhook",), "b": ("slack",), "null": ()})
    posts: list[Mapping[str, Any]] = field(default_factory=list)
    deaf: Callable[[Mapping[str, Any]], str] = lambda _: ""
    first: Any = ZERO
    position: int = -1

    def fetch_integrations(self) -> Any:
        return raise_or_return(self.receivers)

    def post_alert(self, alert: Mapping[str, Any]) -> None:
        if reason := self.deaf(alert):
            raise NoAnswer(reason)
        self.posts.append(alert)

    def find_alert(self, labels: Mapping[str, str]) -> Any:
        assert labels == self.posts[0]["labels"]
        self.position += 1
        return raise_or_return(self.current_answers[0])

    def fetch_counts(self) -> Any:
        return raise_or_return(self.first if self.position < 0 else self.current_answers[1])

    @property
    def current_answers(self) -> tuple[Any, Any]:
        return self.looks[min(self.position, len(self.looks) - 1)]


def raise_or_return(answer: Any) -> Any:
    if isinstance(answer, str):
        raise NoAnswer(answer)
    return answer


def run_trial(
    alertmanager: FakeAlertmanager, cancel_reason: Callable[[], str] = lambda: "", events: list[Event] | None = None
) -> Delivery:
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    report = (events if events is not None else []).append
    trial = Trial(alertmanager, report, cancel_reason, "demo", "warning", clock=lambda: clock[0], sleep=sleep)  # type: ignore[arg-type]
    return trial.run_test()


def add_counts(requests: int = 0, failures: int = 0, **given_up: int) -> Counts:
    added_counts = {
        (*HOOK, reason): ZERO.failed_notifications.get((*HOOK, reason), 0) + count for reason, count in given_up.items()
    }
    return replace(
        ZERO,
        requests={**ZERO.requests, HOOK: 5 + requests},
        failed_requests={HOOK: 2 + failures},
        failed_notifications={**ZERO.failed_notifications, **added_counts},
    )


def join_reasons(delivery: Delivery) -> str:
    return "; ".join([delivery.reason, *(arrival.reason for arrival in delivery.arrivals)]).strip("; ")


def test_an_alert_is_delivered_at_the_second_look() -> None:
    alertmanager_there, events = (
        FakeAlertmanager([(None, ZERO), (ROUTED_ALERT, ZERO), (ROUTED_ALERT, add_counts(requests=1))]),
        list[Event](),
    )
    result = run_trial(alertmanager_there, events=events)
    assert result == Delivery("warning", "delivered", "", (Arrival("a", "webhook", "delivered"),), 2.0)
    assert [event.kind for event in events] == ["step", "waiting", "waiting", "done"]
    first, last = alertmanager_there.posts
    assert (first["labels"]["alertname"], first["labels"]["severity"]) == ("GpustackTest", "warning")
    assert "endsAt" not in first
    assert (last["labels"], last["endsAt"]) == (first["labels"], "2026-11-22T01:00:01+00:00")


def test_no_two_tests_are_one_alert() -> None:
    first_trial, second_trial = (
        FakeAlertmanager([(ROUTED_ALERT, add_counts(requests=1))]),
        FakeAlertmanager([(ROUTED_ALERT, add_counts(requests=1))]),
    )
    run_trial(first_trial)
    run_trial(second_trial)
    assert first_trial.posts[0]["labels"] != second_trial.posts[0]["labels"]


@pytest.mark.parametrize(
    ("looks", "outcome", "reason", "seconds"),
    [
        (
            [(ROUTED_ALERT, add_counts(requests=1, failures=1)), (ROUTED_ALERT, add_counts(requests=2, failures=1))],
            "delivered",
            "",
            1,
        ),
        (
            [(ROUTED_ALERT, add_counts(requests=1, failures=1, clientError=1))],
            "failed",
            "it refused the alert (HTTP 4xx)",
            0,
        ),
        (
            [
                (ROUTED_ALERT, add_counts(requests=7, failures=7)),
                (ROUTED_ALERT, add_counts(requests=7, failures=7, serverError=1)),
            ],
            "failed",
            "HTTP 5xx",
            1,
        ),
        ([(ROUTED_ALERT, add_counts(requests=1, failures=1, strange=1))], "failed", "strange", 0),
        (
            [(ROUTED_ALERT, add_counts(requests=9, failures=9))],
            "failed",
            "9 attempts failed, and Alertmanager goes on",
            60,
        ),
        ([(ROUTED_ALERT, add_counts())], "unknown", "no notification within 60 s", 60),
        ([(None, add_counts(requests=1))], "unknown", "did not show the alert within 60 s", 60),
        ([(replace(ROUTED_ALERT, mute_reason="silenced by x"), ZERO)], "failed", "keeps it back: silenced by x", 0),
        (
            [(replace(ROUTED_ALERT, receivers=("null",)), add_counts(requests=1))],
            "failed",
            "gives it to null, which has no integration",
            0,
        ),
        ([("it hung up", ZERO)], "unknown", "it hung up", 60),
        ([(ROUTED_ALERT, "it hung up"), (ROUTED_ALERT, add_counts(requests=1))], "delivered", "", 1),
        (
            [(ROUTED_ALERT, replace(add_counts(requests=1), process=2.0))],
            "unknown",
            "restarted, or there are several",
            60,
        ),
    ],
)
def test_counts_decide_the_outcome(looks: list[Any], outcome: str, reason: str, seconds: float) -> None:
    alertmanager_there = FakeAlertmanager(looks)
    result = run_trial(alertmanager_there)
    assert (result.outcome, result.seconds, result.unresolved_reason) == (outcome, seconds, "")
    assert reason in join_reasons(result)
    assert bool(join_reasons(result)) is bool(reason)
    assert [("endsAt" in alert) for alert in alertmanager_there.posts] == [False, True]


def list_outcomes(delivery: Delivery) -> dict[str, str]:
    return {arrival.receiver: arrival.outcome for arrival in delivery.arrivals}


def test_each_receiver_is_judged_by_its_own_counter() -> None:
    routed_twice = replace(ROUTED_ALERT, receivers=("a", "b"))
    counts, two = add_counts(requests=1), replace(add_counts(requests=1), requests={HOOK: 6, SLACK: 1})
    result = run_trial(FakeAlertmanager([(routed_twice, counts)]))
    assert (result.outcome, list_outcomes(result)) == ("unknown", {"a": "delivered", "b": "unknown"})
    result = run_trial(FakeAlertmanager([(routed_twice, counts), (routed_twice, two)]))
    assert (result.outcome, list_outcomes(result)) == ("delivered", {"a": "delivered", "b": "delivered"})
    lost_counts = replace(counts, failed_notifications={(*SLACK, "clientError"): 1})
    result = run_trial(FakeAlertmanager([(routed_twice, lost_counts)]))
    assert (result.outcome, list_outcomes(result)) == ("failed", {"a": "delivered", "b": "failed"})


def test_a_receiver_with_two_of_a_way_has_to_get_both() -> None:
    known_receivers = {"a": ("webhook", "webhook")}
    assert run_trial(FakeAlertmanager([(ROUTED_ALERT, add_counts(requests=1))], known_receivers)).outcome == "unknown"
    assert (
        run_trial(FakeAlertmanager([(ROUTED_ALERT, add_counts(requests=3, failures=1))], known_receivers)).outcome
        == "delivered"
    )


def test_counters_without_receivers_prove_nothing() -> None:
    blind = Counts(1.0, {("", "webhook"): 9}, {("", "webhook"): 0}, {})
    result = run_trial(FakeAlertmanager([(ROUTED_ALERT, blind)], first=replace(blind, requests={("", "webhook"): 5})))
    assert (result.outcome, "does not count by receiver" in join_reasons(result)) == ("unknown", True)


def test_severities_are_tested_one_after_the_other_until_one_is_stopped() -> None:
    def build_trial(severity: str, stop_reason: str = "") -> Trial:
        alertmanager_there = FakeAlertmanager([(ROUTED_ALERT, add_counts(requests=1))])
        return Trial(alertmanager_there, lambda _: None, lambda: stop_reason, "demo", severity)  # type: ignore[arg-type]

    result = run_trials([build_trial("critical"), build_trial("warning")], ["info"])
    assert (result.outcome, result.stop_reason, result.unrouted_severities) == ("delivered", "", ("info",))
    assert [delivery.severity for delivery in result.deliveries] == ["critical", "warning"]
    result = run_trials([build_trial("critical", "interrupted"), build_trial("warning")], [])
    assert (result.outcome, result.stop_reason, len(result.deliveries)) == ("unknown", "interrupted", 1)


@pytest.mark.parametrize(
    ("outcomes", "outcome"),
    [
        (["delivered", "delivered"], "delivered"),
        (["delivered", "unknown"], "unknown"),
        (["unknown", "failed", "delivered"], "failed"),
        ([], "unknown"),
    ],
)
def test_the_worst_outcome_counts(outcomes: list[Outcome], outcome: str) -> None:
    assert Deliveries(tuple(Delivery("info", outcome_of_trial) for outcome_of_trial in outcomes)).outcome == outcome


@pytest.mark.parametrize("refused_field", [{"receivers": "refused"}, {"first": "refused"}])
def test_nothing_is_sent_where_nothing_can_be_known(refused_field: dict[str, str]) -> None:
    alertmanager_there = FakeAlertmanager([(ROUTED_ALERT, ZERO)], **refused_field)  # type: ignore[arg-type]
    result = run_trial(alertmanager_there)
    assert (result.outcome, result.reason, alertmanager_there.posts) == ("unknown", "refused; no alert was sent", [])


def test_an_alert_that_is_not_taken_is_unknown() -> None:
    result = run_trial(FakeAlertmanager([(ROUTED_ALERT, ZERO)], deaf=lambda _: "HTTP 400"))
    assert (result.outcome, result.reason) == ("unknown", "HTTP 400")
    assert result.unresolved_reason == "HTTP 400; it ends by itself within minutes"


def test_an_alert_that_cannot_be_ended_says_so() -> None:
    result = run_trial(
        FakeAlertmanager(
            [(ROUTED_ALERT, add_counts(requests=1))], deaf=lambda alert: "gone" if "endsAt" in alert else ""
        )
    )
    assert (result.outcome, result.unresolved_reason) == ("delivered", "gone; it ends by itself within minutes")


def test_an_interrupted_test_ends_its_alert() -> None:
    alertmanager_there = FakeAlertmanager([(ROUTED_ALERT, ZERO)])
    answers = iter(["", "", "interrupted"])
    result = run_trial(alertmanager_there, cancel_reason=lambda: next(answers))
    assert (result.outcome, result.stop_reason) == ("unknown", "interrupted")
    assert "endsAt" in alertmanager_there.posts[-1]


def test_a_second_ctrl_c_ends_the_alert_too() -> None:
    alertmanager_there = FakeAlertmanager([(ROUTED_ALERT, ZERO)])

    def press_ctrl_c() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trial(alertmanager_there, cancel_reason=press_ctrl_c)
    assert ["endsAt" in alert for alert in alertmanager_there.posts] == [False, True]


# Of prometheus/alertmanager: notify/util.go, and pull 5332, which 0.34.0 has.
ALERTMANAGER_REASONS = (
    "other", "clientError", "serverError", "contextCanceled", "contextDeadlineExceeded", "authError", "rateLimited",
)  # fmt: skip


def test_every_reason_of_alertmanager_has_words() -> None:
    assert set(ALERTMANAGER_REASONS) == set(REASONS)
