"""The fix: one root cause at a time, and a new diagnosis after each.

For every root, without exception: ask again whether it is still so → show what would be changed → a yes → copies of
it → play → record what it left → ask the same question again, then the first consequences → diagnose. What is not
resolved is rolled back after a question of its own, and that is the end: no second attempt, no next remedy.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from gpustack.ask.judge import Judgement, Outcome
from gpustack.ask.probe import Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import Evidence
from gpustack.doctor.diagnose import diagnose, questions
from gpustack.doctor.finding import Diagnosis
from gpustack.events import Event, Reporter
from gpustack.remedy.fixed import Attempt, Ending, Fixed
from gpustack.remedy.offer import Offer, offers
from gpustack.remedy.records import HostRecord
from gpustack.remedy.scope import Scope
from gpustack.remedy.undo import Rollback
from gpustack.rollout.plan import Played
from gpustack.rollout.waiting import rest

PAUSE = 2.0
# Seconds: until a fault is resolved, and until its symptoms are gone.
RESOLVE_LIMIT, SYMPTOM_LIMIT = 150.0, 180.0

Gather = Callable[[Sequence[Probe[Any]]], Snapshot]
Agree = Callable[[Sequence[Offer]], bool]
"""Shows nothing; asks one question about these."""


class Recorder(Protocol):
    """Records on hosts: gpustack/remedy/copies.py, or what a test has in its place."""

    def begin(self, id: str, fault: str, scopes: Mapping[str, Scope]) -> None: ...
    def finish(self, id: str, names: Sequence[str]) -> tuple[HostRecord, ...]: ...


@dataclass
class Fix:
    """`wanted` are ids of faults, all roots when empty. `show` is given each offer with its snapshot before it is asked
    about; `undo` rolls back the fix of an id, or returns None where a person declines that; `cancelled` says why to
    stop; `factor` stretches the limits."""

    gather: Gather
    play: Callable[[Offer, Snapshot], Played]
    copies: Recorder
    undo: Callable[[Offer, str], Rollback | None]
    show: Callable[[Offer, Snapshot], None]
    agree: Agree
    report: Reporter
    wanted: Collection[str] = ()
    cancelled: Callable[[], str] = lambda: ""
    factor: int = 1
    attempts: list[Attempt] = field(default_factory=list)
    agreed: set[str] = field(default_factory=set)
    stopped: str = ""

    def run(self, before: Diagnosis) -> Fixed:
        """Raises RolloutError where no copies can be made: then nothing was changed by this one."""
        started, found = time.monotonic(), before
        while not self.should_stop() and (due := self.find_due(found)):
            one = due[0]
            if one.fault.auto == "safe" and one.id not in self.agreed:
                self.ask([other for other in due if other.fault.auto == "safe"], found)
            elif one.fault.auto == "ask" and one.id not in self.agreed:
                self.ask([one], found)
            else:
                found = self.apply_fix(one, found)
        for left in offers(found):
            if self.is_chosen(left) and left.why_not and not self.was_tried(left.id):
                self.attempts.append(Attempt(left, "manual", why=left.why_not))
        return Fixed(before, tuple(self.attempts), found, time.monotonic() - started, self.cancelled() or self.stopped)

    def should_stop(self) -> bool:
        return bool(self.stopped or self.cancelled())

    def find_due(self, found: Diagnosis) -> list[Offer]:
        return [one for one in offers(found) if self.is_chosen(one) and not one.why_not and not self.was_tried(one.id)]

    def is_chosen(self, one: Offer) -> bool:
        return not self.wanted or one.id in self.wanted

    def was_tried(self, id: str) -> bool:
        return any(one.offer.id == id for one in self.attempts)

    def ask(self, some: Sequence[Offer], found: Diagnosis) -> None:
        """Checks whether they are still confirmed, then asks once about those that are."""
        now = self.ask_again(found, some)
        still = [one for one in some if self.is_confirmed(one, now)]
        for one in some:
            if one not in still:
                self.end(one, "recovered")
        for one in still:
            self.show(one, now.snapshot)
        if not still or self.cancelled():
            return
        if self.agree(still):
            self.agreed |= {one.id for one in still}
        else:
            for one in still:
                self.end(one, "declined")

    def apply_fix(self, offer: Offer, found: Diagnosis) -> Diagnosis:
        now = self.ask_again(found, [offer])
        if not self.is_confirmed(offer, now):
            self.end(offer, "recovered")
            return now
        self.report(Event("step", offer.play, f"{offer.id} on {', '.join(offer.hosts)}"))
        started, id = time.monotonic(), f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
        self.copies.begin(id, offer.id, offer.scopes)
        played = self.play(offer, now.snapshot)
        # At once: what is changed while the fault is waited for is the work of others.
        records = self.copies.finish(id, offer.hosts)
        resolved, now = self.wait_resolved(offer, now, 0.0 if played.failed else RESOLVE_LIMIT * self.factor)
        self.report(Event("done", offer.play, ""))
        ending: Ending = "fixed" if resolved else "interrupted" if self.cancelled() else "not-resolved"
        rollback = None
        if ending == "not-resolved":
            self.stopped = f"{offer.id} was not resolved"
            rollback = self.undo(offer, id)
        why = "; ".join(f"{one.where}: {one.result or one.why}" for one in self.find_open(offer, now))
        remaining, now = self.wait_symptoms_gone(offer, found) if resolved else ((), diagnose(self.gather(questions())))
        self.attempts.append(
            Attempt(offer, ending, played, records, rollback, why, remaining, time.monotonic() - started)
        )
        return now

    def ask_again(self, found: Diagnosis, some: Sequence[Offer]) -> Diagnosis:
        """Gathers again the evidence of these faults and of their guards, and diagnoses."""
        names = {
            entry.answer.probe for one in some for spot in one.finding.judged for entry in find_evidence(found, spot.id)
        }
        probes = [probe for probe in questions() if probe.id in names]
        return diagnose(found.snapshot.renewed(self.gather(probes)))

    def is_confirmed(self, offer: Offer, now: Diagnosis) -> bool:
        return any(current_outcome(now, one) == "failed" for one in offer.finding.judged)

    def find_open(self, offer: Offer, now: Diagnosis) -> list[Judgement]:
        """Its judgements where they are not known to be resolved."""
        return [now.judged.get(one.place, one) for one in offer.finding.judged if current_outcome(now, one) != "ok"]

    def wait_resolved(self, offer: Offer, now: Diagnosis, limit: float) -> tuple[bool, Diagnosis]:
        """Gathers again until it is resolved at every location; once at least."""
        began = time.monotonic()
        while True:
            asked = time.monotonic()
            now = self.ask_again(now, [offer])
            took = time.monotonic() - asked
            left = self.find_open(offer, now)
            waited = time.monotonic() - began
            if not left or waited > limit or self.cancelled():
                return not left, now
            self.report(Event("waiting", offer.play, f"{left[0].where}: {left[0].result or left[0].why}", waited))
            rest(took, self.cancelled, PAUSE)

    def wait_symptoms_gone(self, offer: Offer, before: Diagnosis) -> tuple[tuple[str, ...], Diagnosis]:
        """Waits for what it broke to be gone too, for what shows only now that more is answered, and for what differs
        but comes right by itself; what stays is in the next diagnosis."""
        began = time.monotonic()
        while True:
            asked = time.monotonic()
            now = diagnose(self.gather(questions()))
            took = time.monotonic() - asked
            left = [(one.id, one.where) for one in offer.finding.impact if current_outcome(now, one) != "ok"]
            shown = (one.judged[0] for one in now.unexplained)
            left += [(one.id, one.where) for one in shown if current_outcome(before, one) != "failed"]
            symptoms = tuple(dict.fromkeys(id for id, _ in left))
            left += [(f"{one.step}/{one.check}", one.locations[0]) for one in now.drift if one.result.passing]
            waited = time.monotonic() - began
            if not left or waited > SYMPTOM_LIMIT * self.factor or self.cancelled():
                return symptoms, now
            id, where = left[0]
            self.report(Event("waiting", offer.play, f"{where}: {id}", waited))
            rest(took, self.cancelled, PAUSE)

    def end(self, offer: Offer, ending: Ending) -> None:
        self.attempts.append(Attempt(offer, ending))


def current_outcome(now: Diagnosis, one: Judgement) -> Outcome:
    """Unknown where nothing judges it any more."""
    found = now.judged.get(one.place)
    return found.outcome if found else "unknown"


def find_evidence(found: Diagnosis, id: str) -> Iterable[Evidence]:
    """Of an id and its guard, at all locations."""
    return (entry for (name, _), one in found.judged.items() if name in (id, f"{id} guard") for entry in one.evidence)
