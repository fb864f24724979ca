"""A test alert: delivered, failed or not known, by what Alertmanager's counters say, and ended in any case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gpustack.events import Event
from gpustack.proof.alertmanager import Counts, RoutedAlert
from gpustack.proof.delivery import Arrival, Deliveries, Delivery, Outcome, Trial, run_trials
from gpustack.proof.http import NoAnswer

BEGAN = datetime(2026, 11, 22, 1, 0, 0, tzinfo=UTC)
HOOK, SLACK = ("a", "webhook"), ("b", "slack")
ZERO = Counts(1.0, {HOOK: 5, SLACK: 0}, {HOOK: 2}, {(*HOOK, "other"): 1, (*HOOK, "clientError"): 0})
ROUTED = RoutedAlert(("a",), "", BEGAN)


@dataclass
class There:
    """An Alertmanager: `looks` are what it says of alert and counters, the last one again and again."""

    looks: list[tuple[Any, Any]]
    known: Any = field(default_factory=lambda: {"a": ("webhook",), "b": ("slack",), "null": ()})
    posted: list[Mapping[str, Any]] = field(default_factory=list)
    deaf: Callable[[Mapping[str, Any]], str] = lambda _: ""
    first: Any = ZERO
    at: int = -1

    def fetch_integrations(self) -> Any:
        return answered(self.known)

    def post_alert(self, alert: Mapping[str, Any]) -> None:
        if why := self.deaf(alert):
            raise NoAnswer(why)
        self.posted.append(alert)

    def find_alert(self, labels: Mapping[str, str]) -> Any:
        assert labels == self.posted[0]["labels"]
        self.at += 1
        return answered(self.look[0])

    def fetch_counts(self) -> Any:
        return answered(self.first if self.at < 0 else self.look[1])

    @property
    def look(self) -> tuple[Any, Any]:
        return self.looks[min(self.at, len(self.looks) - 1)]


def answered(answer: Any) -> Any:
    if isinstance(answer, str):
        raise NoAnswer(answer)
    return answer


def tried(there: There, cancelled: Callable[[], str] = lambda: "", events: list[Event] | None = None) -> Delivery:
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    report = (events if events is not None else []).append
    trial = Trial(there, report, cancelled, "demo", "warning", clock=lambda: clock[0], sleep=sleep)  # type: ignore[arg-type]
    return trial.run_test()


def more(sent: int = 0, refused: int = 0, **given_up: int) -> Counts:
    added = {
        (*HOOK, reason): ZERO.failed_notifications.get((*HOOK, reason), 0) + count for reason, count in given_up.items()
    }
    return replace(
        ZERO,
        requests={**ZERO.requests, HOOK: 5 + sent},
        failed_requests={HOOK: 2 + refused},
        failed_notifications={**ZERO.failed_notifications, **added},
    )


def reasons(done: Delivery) -> str:
    return "; ".join([done.reason, *(arrival.reason for arrival in done.arrivals)]).strip("; ")


def test_delivered_at_the_second_look() -> None:
    there, events = There([(None, ZERO), (ROUTED, ZERO), (ROUTED, more(sent=1))]), list[Event]()
    done = tried(there, events=events)
    assert done == Delivery("warning", "delivered", "", (Arrival("a", "webhook", "delivered"),), 2.0)
    assert [event.kind for event in events] == ["step", "waiting", "waiting", "done"]
    first, last = there.posted
    assert (first["labels"]["alertname"], first["labels"]["severity"]) == ("GpustackTest", "warning")
    assert "endsAt" not in first
    assert (last["labels"], last["endsAt"]) == (first["labels"], "2026-11-22T01:00:01+00:00")


def test_no_two_tests_are_one_alert() -> None:
    one, other = There([(ROUTED, more(sent=1))]), There([(ROUTED, more(sent=1))])
    tried(one)
    tried(other)
    assert one.posted[0]["labels"] != other.posted[0]["labels"]


@pytest.mark.parametrize(
    ("looks", "outcome", "why", "seconds"),
    [
        ([(ROUTED, more(sent=1, refused=1)), (ROUTED, more(sent=2, refused=1))], "delivered", "", 1),
        ([(ROUTED, more(sent=1, refused=1, clientError=1))], "failed", "it refused the alert (HTTP 4xx)", 0),
        (
            [(ROUTED, more(sent=7, refused=7)), (ROUTED, more(sent=7, refused=7, serverError=1))],
            "failed",
            "HTTP 5xx",
            1,
        ),
        ([(ROUTED, more(sent=1, refused=1, strange=1))], "failed", "strange", 0),
        ([(ROUTED, more(sent=9, refused=9))], "failed", "9 attempts failed, and Alertmanager goes on", 60),
        ([(ROUTED, more())], "unknown", "no notification within 60 s", 60),
        ([(None, more(sent=1))], "unknown", "did not show the alert within 60 s", 60),
        ([(replace(ROUTED, mute_reason="silenced by x"), ZERO)], "failed", "keeps it back: silenced by x", 0),
        (
            [(replace(ROUTED, receivers=("null",)), more(sent=1))],
            "failed",
            "gives it to null, which has no integration",
            0,
        ),
        ([("it hung up", ZERO)], "unknown", "it hung up", 60),
        ([(ROUTED, "it hung up"), (ROUTED, more(sent=1))], "delivered", "", 1),
        ([(ROUTED, replace(more(sent=1), process=2.0))], "unknown", "restarted, or there are several", 60),
    ],
)
def test_outcomes(looks: list[Any], outcome: str, why: str, seconds: float) -> None:
    there = There(looks)
    done = tried(there)
    assert (done.outcome, done.seconds, done.unresolved_reason) == (outcome, seconds, "")
    assert why in reasons(done)
    assert bool(reasons(done)) is bool(why)
    assert [("endsAt" in alert) for alert in there.posted] == [False, True]


def outcomes(done: Delivery) -> dict[str, str]:
    return {arrival.receiver: arrival.outcome for arrival in done.arrivals}


def test_each_receiver_is_judged_by_its_own_counter() -> None:
    both = replace(ROUTED, receivers=("a", "b"))
    counts, two = more(sent=1), replace(more(sent=1), requests={HOOK: 6, SLACK: 1})
    done = tried(There([(both, counts)]))
    assert (done.outcome, outcomes(done)) == ("unknown", {"a": "delivered", "b": "unknown"})
    done = tried(There([(both, counts), (both, two)]))
    assert (done.outcome, outcomes(done)) == ("delivered", {"a": "delivered", "b": "delivered"})
    lost = replace(counts, failed_notifications={(*SLACK, "clientError"): 1})
    done = tried(There([(both, lost)]))
    assert (done.outcome, outcomes(done)) == ("failed", {"a": "delivered", "b": "failed"})


def test_a_receiver_with_two_of_a_way_has_to_get_both() -> None:
    known = {"a": ("webhook", "webhook")}
    assert tried(There([(ROUTED, more(sent=1))], known)).outcome == "unknown"
    assert tried(There([(ROUTED, more(sent=3, refused=1))], known)).outcome == "delivered"


def test_counters_without_receivers_prove_nothing() -> None:
    blind = Counts(1.0, {("", "webhook"): 9}, {("", "webhook"): 0}, {})
    done = tried(There([(ROUTED, blind)], first=replace(blind, requests={("", "webhook"): 5})))
    assert (done.outcome, "does not count by receiver" in reasons(done)) == ("unknown", True)


def test_severities_are_tested_one_after_the_other_until_one_is_stopped() -> None:
    def trial(severity: str, stopped: str = "") -> Trial:
        there = There([(ROUTED, more(sent=1))])
        return Trial(there, lambda _: None, lambda: stopped, "demo", severity)  # type: ignore[arg-type]

    done = run_trials([trial("critical"), trial("warning")], ["info"])
    assert (done.outcome, done.stop_reason, done.unrouted_severities) == ("delivered", "", ("info",))
    assert [delivery.severity for delivery in done.deliveries] == ["critical", "warning"]
    done = run_trials([trial("critical", "interrupted"), trial("warning")], [])
    assert (done.outcome, done.stop_reason, len(done.deliveries)) == ("unknown", "interrupted", 1)


@pytest.mark.parametrize(
    ("each", "outcome"),
    [
        (["delivered", "delivered"], "delivered"),
        (["delivered", "unknown"], "unknown"),
        (["unknown", "failed", "delivered"], "failed"),
        ([], "unknown"),
    ],
)
def test_the_outcome_of_all(each: list[Outcome], outcome: str) -> None:
    assert Deliveries(tuple(Delivery("info", one) for one in each)).outcome == outcome


@pytest.mark.parametrize("before", [{"known": "refused"}, {"first": "refused"}])
def test_nothing_is_sent_where_nothing_can_be_known(before: dict[str, str]) -> None:
    there = There([(ROUTED, ZERO)], **before)  # type: ignore[arg-type]
    done = tried(there)
    assert (done.outcome, done.reason, there.posted) == ("unknown", "refused; no alert was sent", [])


def test_an_alert_that_is_not_taken() -> None:
    done = tried(There([(ROUTED, ZERO)], deaf=lambda _: "HTTP 400"))
    assert (done.outcome, done.reason) == ("unknown", "HTTP 400")
    assert done.unresolved_reason == "HTTP 400; it ends by itself within minutes"


def test_an_alert_that_cannot_be_ended_says_so() -> None:
    done = tried(There([(ROUTED, more(sent=1))], deaf=lambda alert: "gone" if "endsAt" in alert else ""))
    assert (done.outcome, done.unresolved_reason) == ("delivered", "gone; it ends by itself within minutes")


def test_an_interrupted_test_ends_its_alert() -> None:
    there = There([(ROUTED, ZERO)])
    asked = iter(["", "", "interrupted"])
    done = tried(there, cancelled=lambda: next(asked))
    assert (done.outcome, done.stop_reason) == ("unknown", "interrupted")
    assert "endsAt" in there.posted[-1]


def test_a_second_ctrl_c_ends_the_alert_too() -> None:
    there = There([(ROUTED, ZERO)])

    def pressed() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tried(there, cancelled=pressed)
    assert ["endsAt" in alert for alert in there.posted] == [False, True]
