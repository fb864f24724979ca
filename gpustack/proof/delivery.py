"""One test alert goes the way of all alerts, from Alertmanager to whoever is told; what became of it its counters say.

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
from gpustack.proof.alertmanager import Alertmanager, Counts, Seen, document, ended
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
    delivered; `left` is why the alert could not be ended, `stopped` why nobody waited for the end."""

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
        """Never raises NoAnswer: what cannot be told is unknown. The alert is ended in any case."""
        start = self.clock()
        try:
            known, before = self.there.integrations(), self.there.counts()
        except NoAnswer as error:
            return Delivery("unknown", f"{error}; no alert was sent", seconds=self.clock() - start)
        labels = {"alertname": TEST, "severity": "info", "namespace": "gpustack-test", TEST_LABEL: token_hex(4)}
        sent, done, left = self.clock(), Delivery("unknown"), ""
        try:
            self.there.post(document(labels, self.annotations(), url=self.runbook))
            self.report(Event("step", "alert", f"{TEST} sent to Alertmanager"))
            done = self.followed(labels, known, before, start + self.limit)
        except NoAnswer as error:
            done = Delivery("unknown", str(error))
        finally:
            left = self.ended(labels, sent)
        done = replace(done, seconds=self.clock() - start, left=left)
        self.report(Event("done", "alert", done.outcome))
        return done

    def annotations(self) -> dict[str, str]:
        said = {
            "summary": f"A test of the cluster {self.cluster}: nothing is wrong",
            "description": "Sent by `gpustack alerts test`, to see whether alerts arrive. It ends by itself.",
        }
        return said | ({"runbook_url": self.runbook} if self.runbook else {})

    def followed(
        self, labels: Mapping[str, str], known: Mapping[str, tuple[str, ...]], before: Counts, end: float
    ) -> Delivery:
        """Until it is known, it is too late, or nobody wants to know any more."""
        seen: Seen | None = None
        added, trouble = Counts(), ""
        while not (stopped := self.cancelled()):
            try:
                seen = self.there.seen(labels) or seen
                self.began = seen.began if seen else None
                now = self.there.counts()
                trouble = "" if now.process == before.process else "Alertmanager was restarted, or there are several"
                added = added if trouble else now.since(before)
            except NoAnswer as error:
                trouble = str(error)
            if found := judged(seen, known, added):
                return found
            if self.clock() >= end:
                return late(seen, known, added, trouble, self.limit)
            self.report(Event("waiting", "alert", trouble or stage(seen, known, added)))
            self.sleep(BETWEEN)
        return Delivery("unknown", stopped, stopped=stopped)

    def ended(self, labels: Mapping[str, str], sent: float) -> str:
        """Why it could not be; empty when it was."""
        passed = max(self.clock() - sent - BETWEEN, 0.001)
        end = ended(self.began, passed) if self.began else datetime.now(UTC)
        try:
            self.there.post(document(labels, self.annotations(), end))
        except NoAnswer as error:
            return f"{error}; it ends by itself within minutes"
        return ""


def of(seen: Seen, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(way for name in seen.receivers for way in known.get(name, ())))


def judged(seen: Seen | None, known: Mapping[str, tuple[str, ...]], added: Counts) -> Delivery | None:
    """None while it cannot be said yet."""
    if seen is None:
        return None
    ways = of(seen, known)
    told = Delivery("failed", receivers=seen.receivers, integrations=ways)
    if seen.muted:
        return replace(told, why=f"Alertmanager keeps it back: {seen.muted}")
    if not ways:
        to = ", ".join(seen.receivers) or "no receiver"
        return replace(told, why=f"Alertmanager gives it to {to}: nobody is told")
    if wrong := [f"{way}: {REASONS.get(reason, reason)}" for way, reason in given_up(ways, added)]:
        return replace(told, why="; ".join(wrong))
    if all(added.sent.get(way, 0) > added.refused.get(way, 0) for way in ways):
        return replace(told, outcome="delivered")
    return None


def given_up(ways: Sequence[str], added: Counts) -> list[tuple[str, str]]:
    return [key for key, count in added.given_up.items() if key[0] in ways and count > 0]


def late(
    seen: Seen | None, known: Mapping[str, tuple[str, ...]], added: Counts, trouble: str, limit: float
) -> Delivery:
    if seen is None:
        return Delivery("unknown", trouble or f"Alertmanager did not show the alert within {limit:.0f} s")
    told = Delivery("unknown", receivers=seen.receivers, integrations=of(seen, known))
    tries = {way: added.refused.get(way, 0) for way in told.integrations if added.refused.get(way, 0)}
    if tries:
        said = "; ".join(f"{way}: {count:.0f} attempts failed" for way, count in tries.items())
        return replace(told, outcome="failed", why=f"{said}, and Alertmanager goes on trying")
    return replace(told, why=trouble or f"Alertmanager told nobody within {limit:.0f} s, and had no failure either")


def stage(seen: Seen | None, known: Mapping[str, tuple[str, ...]], added: Counts) -> str:
    if seen is None:
        return "Alertmanager takes it in"
    ways = of(seen, known)
    failing = [way for way in ways if added.refused.get(way, 0)]
    if failing:
        return f"{', '.join(failing)} failed; Alertmanager tries again"
    return f"Alertmanager tells {', '.join(seen.receivers)} by {', '.join(ways)}"
