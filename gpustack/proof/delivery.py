"""The delivery of test alerts from Alertmanager to its receivers, judged by the counters of Alertmanager.

The counters are by receiver and integration (webhook, slack, …), not by alert. Another alert to the same receiver may
be counted, which proves the delivery as well. The severities are tested one after the other, so that their counts are
not confused.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Literal

from gpustack.command import NO_HINT, Command, Hint
from gpustack.config.inventory import Inventory
from gpustack.events import Event, Reporter
from gpustack.exit_status import ExitStatus, select_status
from gpustack.proof.alertmanager import Alertmanager, Counts, Integrations, RoutedAlert, build_alert, compute_end
from gpustack.proof.http import NoAnswer
from gpustack.proof.message import Amtool, Message, build_notification, render_messages
from gpustack.rollout.next_command import build_command
from gpustack.steps.monitoring.receiver import RECEIVER_METRICS, TEST, TEST_LABEL

Outcome = Literal["delivered", "failed", "unknown"]
LIMIT = 60.0
READ_PAUSE = 1.0
"""Seconds between two reads of the counters."""
REASONS = {
    "clientError": "it refused the alert (HTTP 4xx)",
    "serverError": "it failed (HTTP 5xx)",
    "contextCanceled": "Alertmanager broke off",
    "contextDeadlineExceeded": "it did not answer in time",
    "authError": "it refused the login (HTTP 401 or 403)",
    "rateLimited": "it takes no more alerts for now (HTTP 429)",
    "other": "it was not reached, or refused; Alertmanager's log has the words",
}


@dataclass(frozen=True)
class Arrival:
    """Describe the outcome at one receiver and integration (webhook, slack, …). `reason` is empty for `delivered`."""

    receiver: str
    integration: str
    outcome: Outcome
    reason: str = ""
    message: Message = field(default_factory=Message)


@dataclass(frozen=True)
class Delivery:
    """Describe the outcome of the test alert of one severity, at the receivers that Alertmanager chose. `reason`
    concerns all receivers, `unresolved_reason` is why the alert could not be resolved, and `stop_reason` why the test
    ended early."""

    severity: str
    outcome: Outcome
    reason: str = ""
    arrivals: tuple[Arrival, ...] = ()
    seconds: float = 0.0
    unresolved_reason: str = ""
    stop_reason: str = ""


@dataclass(frozen=True)
class Deliveries:
    """Hold the outcomes of all severities. No alert was sent for `unrouted_severities`, which have no receiver in the
    spec."""

    deliveries: tuple[Delivery, ...]
    unrouted_severities: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        return select_worst([delivery.outcome for delivery in self.deliveries])

    @property
    def stop_reason(self) -> str:
        return next((delivery.stop_reason for delivery in self.deliveries if delivery.stop_reason), "")

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(
            interrupted=self.stop_reason, differs=self.outcome == "failed", unknown=self.outcome == "unknown"
        )

    def suggest_command(self, inventory: Inventory) -> Hint:
        if self.stop_reason:
            return build_command(inventory, "alerts", "test")
        if self.outcome == "failed":
            return Command("gpustack", "explain", "alerts-not-delivered")
        return NO_HINT if self.outcome == "delivered" else build_command(inventory, "verify")


def select_worst(outcomes: Sequence[Outcome]) -> Outcome:
    """Select the worst outcome. `failed` is worse than `unknown`, and the outcome of an empty sequence is `unknown`."""
    return "failed" if "failed" in outcomes else "delivered" if {*outcomes} == {"delivered"} else "unknown"


def run_trials(trials: Sequence["Trial"], unrouted_severities: Sequence[str]) -> Deliveries:
    """Run the trials one after the other, until one is stopped."""
    deliveries: list[Delivery] = []
    for trial in trials:
        deliveries.append(trial.run_test())
        if deliveries[-1].stop_reason:
            break
    return Deliveries(tuple(deliveries), tuple(unrouted_severities))


@dataclass
class Trial:
    """Test the delivery of one severity. `find_stop_reason` returns the reason to stop, or an empty text. `limit` is
    the time to wait in seconds."""

    alertmanager: Alertmanager
    report: Reporter
    find_stop_reason: Callable[[], str]
    cluster: str
    severity: str
    runbook: str = ""
    limit: float = LIMIT
    amtool: Amtool | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    began: datetime | None = field(default=None, init=False)

    def run_test(self) -> Delivery:
        """Send the test alert, follow it, and resolve it in any case. NoAnswer is not raised, and its outcome is
        `unknown`."""
        start = self.clock()
        try:
            integrations, before = self.alertmanager.fetch_integrations(), self.alertmanager.fetch_counts()
        except NoAnswer as error:
            return self.build_delivery("unknown", f"{error}; no alert was sent", seconds=self.clock() - start)
        # The namespace differs by severity, so that the test of one severity does not inhibit that of another.
        labels = {"alertname": TEST, "severity": self.severity, "namespace": f"gpustack-test-{self.severity}"}
        labels |= {TEST_LABEL: token_hex(4)}
        sent_at, delivery, unresolved_reason = self.clock(), self.build_delivery("unknown"), ""
        try:
            self.alertmanager.post_alert(build_alert(labels, self.build_annotations(), url=self.runbook))
            self.report(Event("step", "alert", f"{TEST} of severity {self.severity} sent to Alertmanager"))
            delivery = self.follow_alert(labels, integrations, before, start + self.limit)
        except NoAnswer as error:
            delivery = self.build_delivery("unknown", str(error))
        finally:
            unresolved_reason = self.end_alert(labels, sent_at)
        delivery = replace(delivery, seconds=self.clock() - start, unresolved_reason=unresolved_reason)
        delivery = replace(delivery, arrivals=self.add_messages(delivery.arrivals, labels))
        self.report(Event("done", "alert", f"{self.severity} {delivery.outcome}"))
        return delivery

    def add_messages(self, arrivals: tuple[Arrival, ...], labels: Mapping[str, str]) -> tuple[Arrival, ...]:
        """Add to each arrival the text that the receiver gets, where Alertmanager has shown the alert."""
        if not (self.amtool and self.began and arrivals):
            return arrivals
        notification = build_notification(labels, self.build_annotations(), self.began, ["alertname", TEST_LABEL])
        messages = render_messages(self.alertmanager, self.amtool, notification)
        unread = messages.get(("", ""), Message(reason="Alertmanager has no such receiver any more"))
        return tuple(
            replace(arrival, message=messages.get((arrival.receiver, arrival.integration), unread))
            for arrival in arrivals
        )

    def build_delivery(self, outcome: Outcome, reason: str = "", seconds: float = 0.0) -> Delivery:
        return Delivery(self.severity, outcome, reason, seconds=seconds)

    def build_annotations(self) -> dict[str, str]:
        annotations = {
            "summary": f"A test of the cluster {self.cluster}: nothing is wrong",
            "description": "Sent by `gpustack alerts test`, to see whether alerts arrive. It ends by itself.",
            "impact": "none: this is a test",
            "runbook": "gpustack explain alerts-not-delivered",
        }
        return annotations | ({"runbook_url": self.runbook} if self.runbook else {})

    def follow_alert(
        self, labels: Mapping[str, str], integrations: Integrations, before: Counts, end: float
    ) -> Delivery:
        """Follow the alert until its outcome is decided, the limit has passed, or the run is stopped."""
        alert: RoutedAlert | None = None
        new_counts, trouble = Counts(), ""
        while not (stop_reason := self.find_stop_reason()):
            try:
                alert = self.alertmanager.find_alert(labels) or alert
                self.began = alert.began if alert else None
                counts = self.alertmanager.fetch_counts()
                trouble = "" if counts.process == before.process else "Alertmanager was restarted, or there are several"
                new_counts = new_counts if trouble else counts.subtract_counts(before)
            except NoAnswer as error:
                trouble = str(error)
            late = self.clock() >= end
            if delivery := judge(self.severity, alert, integrations, new_counts, trouble, self.limit if late else 0.0):
                return delivery
            self.report(Event("waiting", "alert", trouble or describe_stage(alert, integrations, new_counts)))
            self.sleep(READ_PAUSE)
        return replace(self.build_delivery("unknown", stop_reason), stop_reason=stop_reason)

    def end_alert(self, labels: Mapping[str, str], sent_at: float) -> str:
        """Resolve the alert. Return the reason why that failed, or an empty text."""
        seconds_passed = max(self.clock() - sent_at - READ_PAUSE, 0.001)
        end = compute_end(self.began, seconds_passed) if self.began else datetime.now(UTC)
        try:
            self.alertmanager.post_alert(build_alert(labels, self.build_annotations(), end))
        except NoAnswer as error:
            return f"{error}; it ends by itself within minutes"
        return ""


def judge(
    severity: str, alert: RoutedAlert | None, integrations: Integrations, new_counts: Counts, trouble: str, late: float
) -> Delivery | None:
    """Judge the alert by the counters, and return None while it is undecided. `late` is the limit in seconds once it
    has passed, else 0."""
    if alert is None:
        reason = trouble or f"Alertmanager did not show the alert within {late:.0f} s"
        return Delivery(severity, "unknown", reason) if late else None
    if alert.mute_reason:
        return Delivery(severity, "failed", f"Alertmanager keeps it back: {alert.mute_reason}")
    notifications = [(name, integration) for name in alert.receivers for integration in integrations.get(name, ())]
    if not notifications:
        receivers = ", ".join(alert.receivers) or "no receiver"
        return Delivery(severity, "failed", f"Alertmanager gives it to {receivers}, which has no integration")
    arrivals = []
    for (name, channel), number in Counter(notifications).items():
        arrival = decide(name, channel, number, new_counts)
        if arrival is None and not late:
            return None
        arrivals.append(arrival or decide_late(name, channel, new_counts, trouble, late))
    return Delivery(severity, select_worst([arrival.outcome for arrival in arrivals]), arrivals=tuple(arrivals))


def decide(name: str, integration: str, number: int, new_counts: Counts) -> Arrival | None:
    """Judge one integration of a receiver, and return None while it is undecided. `number` is how many of the
    integration the receiver has, each of which is notified."""
    failures = [
        reason
        for (receiver, channel, reason), count in new_counts.failed_notifications.items()
        if (receiver, channel) == (name, integration) and count > 0
    ]
    if failures:
        return Arrival(name, integration, "failed", "; ".join(REASONS.get(reason, reason) for reason in failures))
    was_delivered = (
        new_counts.requests.get((name, integration), 0) - new_counts.failed_requests.get((name, integration), 0)
        >= number
    )
    return Arrival(name, integration, "delivered") if was_delivered else None


def decide_late(name: str, integration: str, new_counts: Counts, trouble: str, limit: float) -> Arrival:
    if tries := new_counts.failed_requests.get((name, integration), 0):
        return Arrival(name, integration, "failed", f"{tries:.0f} attempts failed, and Alertmanager goes on trying")
    if new_counts.requests and (name, integration) not in new_counts.requests and not trouble:
        trouble = f"Alertmanager does not count by receiver (feature {RECEIVER_METRICS})"
    return Arrival(
        name, integration, "unknown", trouble or f"no notification within {limit:.0f} s, and no failure either"
    )


def describe_stage(alert: RoutedAlert | None, integrations: Integrations, new_counts: Counts) -> str:
    if alert is None:
        return "Alertmanager takes it in"
    failing = [
        name
        for name in alert.receivers
        if any(new_counts.failed_requests.get((name, integration)) for integration in integrations.get(name, ()))
    ]
    if failing:
        return f"{', '.join(failing)} failed; Alertmanager tries again"
    return f"Alertmanager notifies {', '.join(alert.receivers)}"
