"""One test alert goes the way of all alerts, from Alertmanager to the receiver; its counters say what became of it.

They are kept by way (webhook, slack, …), not by alert: where another alert takes the same way meanwhile, that one may
be seen. It is as good a proof of the way.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Literal

from gpustack.events import Event, Reporter
from gpustack.proof.alertmanager import Alertmanager, Counts, RoutedAlert, build_alert, end_time
from gpustack.proof.http import NoAnswer
from gpustack.steps.monitoring.receiver import TEST, TEST_LABEL

Outcome = Literal["delivered", "failed", "unknown"]
LIMIT = 60.0
BETWEEN = 1.0
"""Seconds from one look at the counters to the next."""
REASONS = {
    "clientError": "it refused the alert (HTTP 4xx)",
    "serverError": "it failed (HTTP 5xx)",
    "contextCanceled": "Alertmanager broke off",
    "contextDeadlineExceeded": "it did not answer in time",
    "other": "it was not reached, or refused; Alertmanager's log has the words",
}


@dataclass(frozen=True)
class Delivery:
    """`receivers` and `integrations` (webhook, slack, …) are those that Alertmanager chose. `why` is empty when it was
    delivered; `left` is why the alert could not be ended, `stopped` why it ended early."""

    outcome: Outcome
    why: str = ""
    receivers: tuple[str, ...] = ()
    integrations: tuple[str, ...] = ()
    seconds: float = 0.0
    left: str = ""
    stopped: str = ""


@dataclass
class Trial:
    """`cancelled` says why to stop, or nothing."""

    there: Alertmanager
    report: Reporter
    cancelled: Callable[[], str]
    cluster: str
    runbook: str = ""
    limit: float = LIMIT
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    began: datetime | None = field(default=None, init=False)

    def test(self) -> Delivery:
        """Never raises NoAnswer: what could not be checked is unknown. The alert is ended in any case."""
        start = self.clock()
        try:
            known, before = self.there.integrations(), self.there.counts()
        except NoAnswer as error:
            return Delivery("unknown", f"{error}; no alert was sent", seconds=self.clock() - start)
        labels = {"alertname": TEST, "severity": "info", "namespace": "gpustack-test", TEST_LABEL: token_hex(4)}
        sent, done, left = self.clock(), Delivery("unknown"), ""
        try:
            self.there.post(build_alert(labels, self.annotations(), url=self.runbook))
            self.report(Event("step", "alert", f"{TEST} sent to Alertmanager"))
            done = self.follow(labels, known, before, start + self.limit)
        except NoAnswer as error:
            done = Delivery("unknown", str(error))
        finally:
            left = self.end_alert(labels, sent)
        done = replace(done, seconds=self.clock() - start, left=left)
        self.report(Event("done", "alert", done.outcome))
        return done

    def annotations(self) -> dict[str, str]:
        text = {
            "summary": f"A test of the cluster {self.cluster}: nothing is wrong",
            "description": "Sent by `gpustack alerts test`, to see whether alerts arrive. It ends by itself.",
        }
        return text | ({"runbook_url": self.runbook} if self.runbook else {})

    def follow(
        self, labels: Mapping[str, str], known: Mapping[str, tuple[str, ...]], before: Counts, end: float
    ) -> Delivery:
        """Until it is decided, too late, or cancelled."""
        routed: RoutedAlert | None = None
        added, trouble = Counts(), ""
        while not (stopped := self.cancelled()):
            try:
                routed = self.there.find_alert(labels) or routed
                self.began = routed.began if routed else None
                now = self.there.counts()
                trouble = "" if now.process == before.process else "Alertmanager was restarted, or there are several"
                added = added if trouble else now.since(before)
            except NoAnswer as error:
                trouble = str(error)
            if found := judge(routed, known, added):
                return found
            if self.clock() >= end:
                return judge_late(routed, known, added, trouble, self.limit)
            self.report(Event("waiting", "alert", trouble or describe_stage(routed, known, added)))
            self.sleep(BETWEEN)
        return Delivery("unknown", stopped, stopped=stopped)

    def end_alert(self, labels: Mapping[str, str], sent: float) -> str:
        """Why it could not be; empty when it was."""
        passed = max(self.clock() - sent - BETWEEN, 0.001)
        end = end_time(self.began, passed) if self.began else datetime.now(UTC)
        try:
            self.there.post(build_alert(labels, self.annotations(), end))
        except NoAnswer as error:
            return f"{error}; it ends by itself within minutes"
        return ""


def find_integrations(routed: RoutedAlert, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(way for name in routed.receivers for way in known.get(name, ())))


def judge(routed: RoutedAlert | None, known: Mapping[str, tuple[str, ...]], added: Counts) -> Delivery | None:
    """None while it is undecided."""
    if routed is None:
        return None
    ways = find_integrations(routed, known)
    result = Delivery("failed", receivers=routed.receivers, integrations=ways)
    if routed.muted:
        return replace(result, why=f"Alertmanager keeps it back: {routed.muted}")
    if not ways:
        to = ", ".join(routed.receivers) or "no receiver"
        return replace(result, why=f"Alertmanager gives it to {to}, which has no integration")
    if wrong := [f"{way}: {REASONS.get(reason, reason)}" for way, reason in find_given_up(ways, added)]:
        return replace(result, why="; ".join(wrong))
    if all(added.sent.get(way, 0) > added.refused.get(way, 0) for way in ways):
        return replace(result, outcome="delivered")
    return None


def find_given_up(ways: Sequence[str], added: Counts) -> list[tuple[str, str]]:
    return [key for key, count in added.given_up.items() if key[0] in ways and count > 0]


def judge_late(
    routed: RoutedAlert | None, known: Mapping[str, tuple[str, ...]], added: Counts, trouble: str, limit: float
) -> Delivery:
    if routed is None:
        return Delivery("unknown", trouble or f"Alertmanager did not show the alert within {limit:.0f} s")
    result = Delivery("unknown", receivers=routed.receivers, integrations=find_integrations(routed, known))
    tries = {way: added.refused.get(way, 0) for way in result.integrations if added.refused.get(way, 0)}
    if tries:
        text = "; ".join(f"{way}: {count:.0f} attempts failed" for way, count in tries.items())
        return replace(result, outcome="failed", why=f"{text}, and Alertmanager goes on trying")
    return replace(result, why=trouble or f"no notification within {limit:.0f} s, and no failure either")


def describe_stage(routed: RoutedAlert | None, known: Mapping[str, tuple[str, ...]], added: Counts) -> str:
    if routed is None:
        return "Alertmanager takes it in"
    ways = find_integrations(routed, known)
    failing = [way for way in ways if added.refused.get(way, 0)]
    if failing:
        return f"{', '.join(failing)} failed; Alertmanager tries again"
    return f"Alertmanager notifies {', '.join(routed.receivers)} by {', '.join(ways)}"
