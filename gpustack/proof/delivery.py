"""A test alert of each severity goes the way of all alerts, from Alertmanager to its receivers; Alertmanager's counters
say what became of it.

They are kept by receiver and by way (webhook, slack, …), not by alert: where another alert goes to the same receiver
meanwhile, that one may be seen. It is as good a proof of the way. One severity is tested after the other, so that no
test is taken for another one's.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Literal

from gpustack.events import Event, Reporter
from gpustack.proof.alertmanager import Alertmanager, Counts, Integrations, RoutedAlert, build_alert, end_time
from gpustack.proof.http import NoAnswer
from gpustack.steps.monitoring.receiver import COUNTED, TEST, TEST_LABEL

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
class Arrival:
    """At one receiver, by one way (webhook, slack, …). `why` is empty when it was delivered."""

    receiver: str
    integration: str
    outcome: Outcome
    why: str = ""


@dataclass(frozen=True)
class Delivery:
    """Of the test alert of one severity; `arrivals` are those that Alertmanager chose. `why` is what concerns all of
    them; `left` is why the alert could not be ended, `stopped` why it ended early."""

    severity: str
    outcome: Outcome
    why: str = ""
    arrivals: tuple[Arrival, ...] = ()
    seconds: float = 0.0
    left: str = ""
    stopped: str = ""


@dataclass(frozen=True)
class Deliveries:
    """`nobody` are severities that the spec sends to nobody: of these no alert was sent."""

    each: tuple[Delivery, ...]
    nobody: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        return foremost([one.outcome for one in self.each])

    @property
    def stopped(self) -> str:
        return next((one.stopped for one in self.each if one.stopped), "")


def foremost(outcomes: Sequence[Outcome]) -> Outcome:
    """A failure counts more than what is unknown; nothing at all is unknown."""
    return "failed" if "failed" in outcomes else "delivered" if {*outcomes} == {"delivered"} else "unknown"


def run_trials(trials: Sequence["Trial"], nobody: Sequence[str]) -> Deliveries:
    """One after the other, until one was stopped."""
    found: list[Delivery] = []
    for trial in trials:
        found.append(trial.test())
        if found[-1].stopped:
            break
    return Deliveries(tuple(found), tuple(nobody))


@dataclass
class Trial:
    """`cancelled` says why to stop, or nothing."""

    there: Alertmanager
    report: Reporter
    cancelled: Callable[[], str]
    cluster: str
    severity: str
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
            return self.delivery("unknown", f"{error}; no alert was sent", seconds=self.clock() - start)
        # A namespace of its own: the test of one severity must not inhibit that of another.
        labels = {"alertname": TEST, "severity": self.severity, "namespace": f"gpustack-test-{self.severity}"}
        labels |= {TEST_LABEL: token_hex(4)}
        sent, done, left = self.clock(), self.delivery("unknown"), ""
        try:
            self.there.post(build_alert(labels, self.annotations(), url=self.runbook))
            self.report(Event("step", "alert", f"{TEST} of severity {self.severity} sent to Alertmanager"))
            done = self.follow(labels, known, before, start + self.limit)
        except NoAnswer as error:
            done = self.delivery("unknown", str(error))
        finally:
            left = self.end_alert(labels, sent)
        done = replace(done, seconds=self.clock() - start, left=left)
        self.report(Event("done", "alert", f"{self.severity} {done.outcome}"))
        return done

    def delivery(self, outcome: Outcome, why: str = "", seconds: float = 0.0) -> Delivery:
        return Delivery(self.severity, outcome, why, seconds=seconds)

    def annotations(self) -> dict[str, str]:
        text = {
            "summary": f"A test of the cluster {self.cluster}: nothing is wrong",
            "description": "Sent by `gpustack alerts test`, to see whether alerts arrive. It ends by itself.",
        }
        return text | ({"runbook_url": self.runbook} if self.runbook else {})

    def follow(self, labels: Mapping[str, str], known: Integrations, before: Counts, end: float) -> Delivery:
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
            late = self.clock() >= end
            if found := judge(self.severity, routed, known, added, trouble, self.limit if late else 0.0):
                return found
            self.report(Event("waiting", "alert", trouble or describe_stage(routed, known, added)))
            self.sleep(BETWEEN)
        return replace(self.delivery("unknown", stopped), stopped=stopped)

    def end_alert(self, labels: Mapping[str, str], sent: float) -> str:
        """Why it could not be; empty when it was."""
        passed = max(self.clock() - sent - BETWEEN, 0.001)
        end = end_time(self.began, passed) if self.began else datetime.now(UTC)
        try:
            self.there.post(build_alert(labels, self.annotations(), end))
        except NoAnswer as error:
            return f"{error}; it ends by itself within minutes"
        return ""


def judge(
    severity: str, routed: RoutedAlert | None, known: Integrations, added: Counts, trouble: str, late: float
) -> Delivery | None:
    """None while it is undecided. `late`: the seconds after which no more is waited, else 0."""
    if routed is None:
        why = trouble or f"Alertmanager did not show the alert within {late:.0f} s"
        return Delivery(severity, "unknown", why) if late else None
    if routed.muted:
        return Delivery(severity, "failed", f"Alertmanager keeps it back: {routed.muted}")
    ways = [(name, way) for name in routed.receivers for way in known.get(name, ())]
    if not ways:
        to = ", ".join(routed.receivers) or "no receiver"
        return Delivery(severity, "failed", f"Alertmanager gives it to {to}, which has no integration")
    arrivals = []
    for (name, way), number in Counter(ways).items():
        found = decide(name, way, number, added)
        if found is None and not late:
            return None
        arrivals.append(found or decide_late(name, way, added, trouble, late))
    return Delivery(severity, foremost([one.outcome for one in arrivals]), arrivals=tuple(arrivals))


def decide(name: str, way: str, number: int, added: Counts) -> Arrival | None:
    """None while it is undecided. `number`: how many of that way the receiver has, each of which is notified."""
    gone = [reason for (of, by, reason), count in added.given_up.items() if (of, by) == (name, way) and count > 0]
    if gone:
        return Arrival(name, way, "failed", "; ".join(REASONS.get(reason, reason) for reason in gone))
    arrived = added.sent.get((name, way), 0) - added.refused.get((name, way), 0) >= number
    return Arrival(name, way, "delivered") if arrived else None


def decide_late(name: str, way: str, added: Counts, trouble: str, limit: float) -> Arrival:
    if tries := added.refused.get((name, way), 0):
        return Arrival(name, way, "failed", f"{tries:.0f} attempts failed, and Alertmanager goes on trying")
    if added.sent and (name, way) not in added.sent and not trouble:
        trouble = f"Alertmanager does not count by receiver (feature {COUNTED})"
    return Arrival(name, way, "unknown", trouble or f"no notification within {limit:.0f} s, and no failure either")


def describe_stage(routed: RoutedAlert | None, known: Integrations, added: Counts) -> str:
    if routed is None:
        return "Alertmanager takes it in"
    failing = [name for name in routed.receivers if any(added.refused.get((name, way)) for way in known.get(name, ()))]
    if failing:
        return f"{', '.join(failing)} failed; Alertmanager tries again"
    return f"Alertmanager notifies {', '.join(routed.receivers)}"
