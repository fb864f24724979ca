"""The fix: one root cause at a time, and a new diagnosis after each.

The order is the same for all root causes: ask again whether it is confirmed → show what would be changed → a yes →
copies of it → play → record the result → ask the same question again, then the first consequences → diagnose. What is
not resolved is rolled back after a question of its own, and that is the end: no second attempt, no next remedy.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from gpustack.ask.judge import Judgement, Outcome
from gpustack.ask.probe import Evidence, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose, list_probes
from gpustack.doctor.finding import Diagnosis
from gpustack.events import Event, Reporter
from gpustack.remedy.commands import add_commands
from gpustack.remedy.fix_result import Attempt, Ending, FixResult
from gpustack.remedy.offer import Offer, build_offers
from gpustack.remedy.records import HostRecord
from gpustack.remedy.scope import Scope
from gpustack.remedy.undo import Rollback
from gpustack.rollout.plan import PlaybookRun
from gpustack.rollout.waiting import pause_between_rounds

PAUSE = 2.0
# Seconds within which a fault is resolved, and within which its symptoms disappear.
RESOLVE_LIMIT, SYMPTOM_LIMIT = 150.0, 180.0

Gather = Callable[[Sequence[Probe[Any]]], Snapshot]
Agree = Callable[[Sequence[Offer]], bool]
"""A question about these offers, which are already shown."""


class Recorder(Protocol):
    """Record fixes on hosts: gpustack/remedy/copies.py, or its replacement in a test."""

    def begin(self, id: str, fault: str, scopes: Mapping[str, Scope]) -> None: ...
    def finish(self, id: str, names: Sequence[str]) -> tuple[HostRecord, ...]: ...


@dataclass
class Fix:
    """Run fixes. `fault_ids` are the chosen faults, all roots when empty. `show` gets each offer with its snapshot
    before the question about it; `undo` rolls back the fix of an id, or returns None where a person declines that;
    `cancellation` returns why to stop; `factor` stretches the limits."""

    gather: Gather
    play: Callable[[Offer, Snapshot], PlaybookRun]
    copies: Recorder
    undo: Callable[[Offer, str], Rollback | None]
    show: Callable[[Offer, Snapshot], None]
    agree: Agree
    report: Reporter
    fault_ids: Collection[str] = ()
    cancellation: Callable[[], str] = lambda: ""
    factor: int = 1
    attempts: list[Attempt] = field(default_factory=list)
    agreed_ids: set[str] = field(default_factory=set)
    stop_reason: str = ""

    def run(self, before: Diagnosis) -> FixResult:
        """Fix the root causes of a diagnosis. Raise RolloutError where no copies can be made: then the fix changed
        nothing."""
        started_at, diagnosis = time.monotonic(), before
        while not self.should_stop() and (due := self.find_due(diagnosis)):
            offer = due[0]
            if offer.remediation == "automatic" and offer.id not in self.agreed_ids:
                self.request_agreement(
                    [due_offer for due_offer in due if due_offer.remediation == "automatic"], diagnosis
                )
            elif offer.remediation == "needs-confirmation" and offer.id not in self.agreed_ids:
                self.request_agreement([offer], diagnosis)
            else:
                diagnosis = self.apply_fix(offer, diagnosis)
        for offer in build_offers(diagnosis):
            if self.is_chosen(offer) and offer.obstacle and not self.was_tried(offer.id):
                self.attempts.append(Attempt(offer, "manual", reason=offer.obstacle))
        seconds, stop_reason = time.monotonic() - started_at, self.cancellation() or self.stop_reason
        return FixResult(before, tuple(self.attempts), add_commands(diagnosis), seconds, stop_reason)

    def should_stop(self) -> bool:
        return bool(self.stop_reason or self.cancellation())

    def find_due(self, diagnosis: Diagnosis) -> list[Offer]:
        return [
            offer
            for offer in build_offers(diagnosis)
            if self.is_chosen(offer) and not offer.obstacle and not self.was_tried(offer.id)
        ]

    def is_chosen(self, offer: Offer) -> bool:
        return not self.fault_ids or offer.id in self.fault_ids

    def was_tried(self, id: str) -> bool:
        return any(attempt.offer.id == id for attempt in self.attempts)

    def request_agreement(self, offers: Sequence[Offer], diagnosis: Diagnosis) -> None:
        """Check that offers are still confirmed, then ask once about those that are."""
        diagnosis_now = self.refresh_diagnosis(diagnosis, offers)
        confirmed_offers = [offer for offer in offers if self.is_confirmed(offer, diagnosis_now)]
        for offer in offers:
            if offer not in confirmed_offers:
                self.record_ending(offer, "recovered")
        for offer in confirmed_offers:
            self.show(offer, diagnosis_now.snapshot)
        if not confirmed_offers or self.cancellation():
            return
        if self.agree(confirmed_offers):
            self.agreed_ids |= {offer.id for offer in confirmed_offers}
        else:
            for offer in confirmed_offers:
                self.record_ending(offer, "declined")

    def apply_fix(self, offer: Offer, diagnosis: Diagnosis) -> Diagnosis:
        current_diagnosis = self.refresh_diagnosis(diagnosis, [offer])
        if not self.is_confirmed(offer, current_diagnosis):
            self.record_ending(offer, "recovered")
            return current_diagnosis
        self.report(Event("step", offer.play, f"{offer.id} on {', '.join(offer.hosts)}"))
        started_at, id = time.monotonic(), f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
        self.copies.begin(id, offer.id, offer.scopes)
        play_result = self.play(offer, current_diagnosis.snapshot)
        # Recorded at once: changes during the wait for the result come from others.
        records = self.copies.finish(id, offer.hosts)
        is_resolved, current_diagnosis = self.wait_resolved(
            offer, current_diagnosis, 0.0 if play_result.failed_hosts else RESOLVE_LIMIT * self.factor
        )
        self.report(Event("done", offer.play, ""))
        ending: Ending = "fixed" if is_resolved else "interrupted" if self.cancellation() else "not-resolved"
        rollback = None
        if ending == "not-resolved":
            self.stop_reason = f"{offer.id} was not resolved"
            rollback = self.undo(offer, id)
        reason = "; ".join(
            f"{judgement.location}: {judgement.result or judgement.reason}"
            for judgement in self.find_open(offer, current_diagnosis)
        )
        remaining, current_diagnosis = (
            self.wait_symptoms_gone(offer, diagnosis) if is_resolved else ((), diagnose(self.gather(list_probes())))
        )
        self.attempts.append(
            Attempt(offer, ending, play_result, records, rollback, reason, remaining, time.monotonic() - started_at)
        )
        return current_diagnosis

    def refresh_diagnosis(self, diagnosis: Diagnosis, offers: Sequence[Offer]) -> Diagnosis:
        """Gather the evidence of these faults and of their guards again, and diagnose."""
        names = {
            entry.answer.probe
            for offer in offers
            for judgement in offer.finding.judgements
            for entry in find_evidence(diagnosis, judgement.id)
        }
        probes = [probe for probe in list_probes() if probe.id in names]
        return diagnose(diagnosis.snapshot.merge_snapshot(self.gather(probes)))

    def is_confirmed(self, offer: Offer, diagnosis: Diagnosis) -> bool:
        return any(find_current_outcome(diagnosis, judgement) == "failed" for judgement in offer.finding.judgements)

    def find_open(self, offer: Offer, diagnosis: Diagnosis) -> list[Judgement]:
        """List the judgements of an offer that are not known to be resolved."""
        return [
            diagnosis.judgements.get(judgement.place, judgement)
            for judgement in offer.finding.judgements
            if find_current_outcome(diagnosis, judgement) != "ok"
        ]

    def wait_resolved(self, offer: Offer, diagnosis: Diagnosis, limit: float) -> tuple[bool, Diagnosis]:
        """Gather, at least once, until an offer is resolved at all its locations or `limit` seconds have passed."""
        start = time.monotonic()
        while True:
            round_start = time.monotonic()
            diagnosis = self.refresh_diagnosis(diagnosis, [offer])
            seconds = time.monotonic() - round_start
            open_judgements = self.find_open(offer, diagnosis)
            seconds_passed = time.monotonic() - start
            if not open_judgements or seconds_passed > limit or self.cancellation():
                return not open_judgements, diagnosis
            first = open_judgements[0]
            self.report(
                Event("waiting", offer.play, f"{first.location}: {first.result or first.reason}", seconds_passed)
            )
            pause_between_rounds(seconds, self.cancellation, PAUSE)

    def wait_symptoms_gone(self, offer: Offer, before: Diagnosis) -> tuple[tuple[str, ...], Diagnosis]:
        """Wait until the impact of a fault is gone, and new symptoms, and differences that disappear without a fix.
        Return the ids of symptoms that remain."""
        start = time.monotonic()
        while True:
            round_start = time.monotonic()
            current_diagnosis = diagnose(self.gather(list_probes()))
            seconds = time.monotonic() - round_start
            remaining = [
                (effect.id, effect.location)
                for effect in offer.finding.impact
                if find_current_outcome(current_diagnosis, effect) != "ok"
            ]
            new_judgements = (symptom.judgements[0] for symptom in current_diagnosis.unexplained_symptoms)
            remaining += [
                (judgement.id, judgement.location)
                for judgement in new_judgements
                if find_current_outcome(before, judgement) != "failed"
            ]
            symptoms = tuple(dict.fromkeys(id for id, _ in remaining))
            remaining += [
                (f"{drift.step}/{drift.check}", drift.locations[0])
                for drift in current_diagnosis.drift
                if drift.result.passing
            ]
            seconds_passed = time.monotonic() - start
            if not remaining or seconds_passed > SYMPTOM_LIMIT * self.factor or self.cancellation():
                return symptoms, current_diagnosis
            id, location = remaining[0]
            self.report(Event("waiting", offer.play, f"{location}: {id}", seconds_passed))
            pause_between_rounds(seconds, self.cancellation, PAUSE)

    def record_ending(self, offer: Offer, ending: Ending) -> None:
        self.attempts.append(Attempt(offer, ending))


def find_current_outcome(diagnosis: Diagnosis, judgement: Judgement) -> Outcome:
    """Return the outcome of the same id at the same place, which is unknown where nothing judges it any more."""
    current_judgement = diagnosis.judgements.get(judgement.place)
    return current_judgement.outcome if current_judgement else "unknown"


def find_evidence(diagnosis: Diagnosis, id: str) -> Iterable[Evidence]:
    """Return the evidence of an id and its guard, at all locations."""
    return (
        entry
        for (name, _), judgement in diagnosis.judgements.items()
        if name in (id, f"{id} guard")
        for entry in judgement.evidence
    )
