"""Install: per step, what differs → the playbook on those hosts → ask again → the step's checks, until they hold.

A host that fails leaves the rollout, the others go on; a control plane that fails stops it. A step of the cluster that
does not come right takes with it what needs it, and no other: without Prometheus there are GPUs all the same.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.events import Event, Reporter
from gpustack.probes.containerd.pulled import PULLED
from gpustack.rollout import waiting
from gpustack.rollout.plan import Outcome, Plan, Played, StepState, Verification, all_needs, judge_step, plan
from gpustack.rollout.waiting import Patience, Settling, needs_person
from gpustack.steps.step import Step

Gather = Callable[[Sequence[Probe[Any]], Sequence[str]], Snapshot]
"""Asks probes of hosts (all when empty)."""
Play = Callable[[Step, Sequence[str], Snapshot], Played]


@dataclass
class Rollout:
    """One run. `steps` in order; `limit` are host names (all when empty); `force` plays also what holds; `cancelled`
    says why the run is to stop, and nothing while it is not. `took`: seconds of the last asking."""

    inventory: Inventory
    steps: Sequence[Step]
    gather: Gather
    play: Play
    report: Reporter
    limit: Sequence[str] = ()
    force: bool = False
    cancelled: Callable[[], str] = lambda: ""
    left: dict[str, str] = field(default_factory=dict)
    played: list[Played] = field(default_factory=list)
    blocked: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    settling: dict[str, tuple[Step, list[StepState]]] = field(default_factory=dict)
    stopped: str = ""
    took: float = 0.0

    def run(self, before: Plan) -> Outcome:
        """Never raises for a failing host or task: the outcome says what happened."""
        started = time.monotonic()
        snapshot = before.snapshot
        self.left = dict.fromkeys(before.unreached, "reach")
        for index, step in enumerate(self.steps):
            if self.stopped or self.cancelled():
                break
            snapshot = self.settle_some(self.find_needed(step.needs), snapshot)
            if self.blocked & set(step.depends):
                self.blocked.add(step.id)
                continue
            snapshot = self.run_step(step, snapshot, self.steps[index + 1] if index + 1 < len(self.steps) else None)
        self.settle_some(list(self.settling), snapshot)
        self.stopped = self.cancelled() or self.stopped
        unchanged = Verification(before, before.snapshot.took, len(before.snapshot.answers))
        verified = self.verify() if self.played else unchanged
        played, left, seconds = tuple(self.played), tuple(self.left.items()), time.monotonic() - started
        return Outcome(before, played, verified, left, seconds, self.stopped)

    def verify(self) -> Verification:
        """Gathers everything again. What passes by itself gets a last while: a later step may have moved what
        an earlier one had seen settled (a target that is scraped under another name)."""
        last = waiting.LAST * self.factor
        until = time.monotonic() + last
        while True:
            snapshot = self.time_gather([probe for step in self.steps for probe in step.probes], ())
            took, found = self.took, plan(snapshot, self.steps, self.limit)
            open_ones = [one for one in found.states if one.outcome != "ok" and self.is_active(one.where)]
            may_pass = open_ones and all(map(self.is_passing, open_ones))
            if not may_pass or time.monotonic() > until or self.cancelled():
                return Verification(found, took, len(snapshot.answers))
            self.report(Event("waiting", open_ones[0].step, describe(open_ones[0]), last - (until - time.monotonic())))
            self.rest()

    def run_step(self, step: Step, snapshot: Snapshot, following: Step | None) -> Snapshot:
        snapshot = self.refresh(step, snapshot)
        states = self.judge(step, snapshot)
        due = [found for found in states if self.is_due(found)]
        if due and not self.played:
            # The plan is older than the confirmation and the lock: the hosts may have changed since.
            snapshot = self.ask(snapshot, step.probes)
            states = self.judge(step, snapshot)
            due = [found for found in states if self.is_due(found)]
        self.drop_undecided(step, states)
        hosts = self.choose_hosts(due, snapshot)
        if not hosts:
            return snapshot
        self.report(Event("step", step.id, ", ".join(hosts)))
        played = self.play(step, hosts, snapshot)
        self.played.append(played)
        self.asked = set()
        for name in played.failed:
            self.drop(CLUSTER if step.scope == "cluster" else name, step)
        if self.stopped or step.id in self.blocked:
            return snapshot
        if step.scope == "cluster" and following:
            self.settling[step.id] = (step, due)
            return snapshot
        snapshot = self.settle_some(self.find_needed(step.depends), snapshot)
        if self.blocked & set(step.depends):
            self.blocked.add(step.id)
            return snapshot
        probes = [*step.probes, *(following.probes if following else ())]
        return self.settle(step, due, self.ask(snapshot, probes))

    def find_needed(self, ids: Sequence[str]) -> list[str]:
        """Of the steps that still settle, those that these are or depend on."""
        depends = {step.id: step.depends for step in self.steps}
        return [id for id in self.settling if id in ids or any(id in all_needs(one, depends) for one in ids)]

    def settle_some(self, ids: Sequence[str], snapshot: Snapshot) -> Snapshot:
        """What a step of the cluster has begun goes on while later steps are played, until one of them needs it: an
        image is pulled while a driver is compiled."""
        for id in ids:
            step, due = self.settling.pop(id)
            if self.blocked & set(step.depends):
                self.blocked.add(id)
            elif not (self.stopped or self.cancelled()):
                snapshot = self.settle(step, due, self.ask(snapshot, step.probes))
        return snapshot

    def refresh(self, step: Step, snapshot: Snapshot) -> Snapshot:
        """What was asked before the last play is asked again. What is unknown, refused or passing may
        only not be back yet after what an earlier step restarted: it gets the step's time to settle, and less where
        all of it is for a person, or where a play would do no harm."""
        if not self.played:
            return snapshot
        patience = Patience(self.factor)
        if not {probe.id for probe in step.probes} <= self.asked:
            snapshot = self.ask(snapshot, step.probes)
        until, started = time.monotonic() + step.settle * self.factor, time.monotonic()
        while time.monotonic() < until and not self.cancelled():
            waited = time.monotonic() - started
            may_pass = waited < waiting.FIRST * self.factor and not self.force
            states = self.judge(step, snapshot)
            open_ones = [one for one in states if self.is_undecided(one) or (may_pass and self.is_passing(one))]
            if not open_ones or patience.is_over(open_ones):
                break
            self.report(Event("waiting", step.id, describe(open_ones[0]), waited))
            self.rest()
            snapshot = self.ask(snapshot, step.probes)
        return snapshot

    @property
    def factor(self) -> int:
        return self.inventory.spec.timeout_factor

    def judge(self, step: Step, snapshot: Snapshot) -> list[StepState]:
        return [found for found in plan(snapshot, [step], self.limit).states if self.is_active(found.where)]

    def ask(self, snapshot: Snapshot, probes: Sequence[Probe[Any]]) -> Snapshot:
        self.asked |= {probe.id for probe in probes}
        return snapshot.renewed(self.time_gather(probes, self.list_active()))

    def time_gather(self, probes: Sequence[Probe[Any]], hosts: Sequence[str]) -> Snapshot:
        asked = time.monotonic()
        try:
            return self.gather(probes, hosts)
        finally:
            self.took = time.monotonic() - asked

    def rest(self) -> None:
        waiting.rest(self.took, self.cancelled, waiting.PAUSE)

    def settle(self, step: Step, due: Sequence[StepState], snapshot: Snapshot) -> Snapshot:
        """Asks again until no check is broken or unknown, or its time to settle is over, or all that is left has been
        for a person for a while."""
        limit = max((step.settle_time(View(snapshot, found.where)) for found in due), default=step.settle)
        patience, settling = Patience(self.factor), Settling(limit * self.factor, self.factor)
        locations = [found.where for found in due if self.is_active(found.where)]
        while True:
            now = [judge_step(step, snapshot, where) for where in locations]
            open_ones = [found for found in now if found.outcome != "ok"]
            if not open_ones or settling.is_over() or patience.is_over(open_ones) or self.cancelled():
                break
            self.report(Event("waiting", step.id, describe(open_ones[0]), settling.seconds))
            self.rest()
            snapshot = self.ask(snapshot, [*step.probes, PULLED] if step.pulls else step.probes)
            settling.watch(snapshot)
        still = settling.describe() if settling.is_over() else ""
        for found in open_ones:
            self.report(Event("failed", found.where, describe(found) + still))
            self.drop(found.where, step)
        self.report(Event("done", step.id, "", settling.seconds))
        return snapshot

    def is_due(self, found: StepState) -> bool:
        """Drifted in a way that the playbook repairs; or everything, when forced."""
        if needs_person(found):
            return False
        return self.force or found.outcome == "failed"

    def is_undecided(self, found: StepState) -> bool:
        """Unknown, or for a person first."""
        return needs_person(found) or (found.outcome == "unknown" and not self.force)

    def is_passing(self, found: StepState) -> bool:
        """All that is open passes by itself."""
        open_ones = [judgement for judgement in found.judgements if judgement.outcome != "ok"]
        return bool(open_ones) and all(one.result and one.result.passing for one in open_ones)

    def drop_undecided(self, step: Step, states: Sequence[StepState]) -> None:
        """A host of which we cannot tell, or which needs a person first, must not go on to what builds on this step."""
        for found in states:
            if self.is_undecided(found):
                self.drop(found.where, step)

    def drop(self, host: str, step: Step) -> None:
        """A host goes no further than this step; where it is the cluster, neither does what needs the step."""
        if host == CLUSTER:
            self.blocked.add(step.id)
            return
        self.left.setdefault(host, step.id)
        if any(plane.name == host for plane in self.inventory.control_planes):
            self.stopped = self.stopped or f"the control plane {host} did not get past {step.id}"

    def is_active(self, where: str) -> bool:
        return where == CLUSTER or where not in self.left

    def list_active(self) -> list[str]:
        return [host.name for host in self.inventory.hosts if host.name not in self.left]

    def choose_hosts(self, due: Sequence[StepState], snapshot: Snapshot) -> list[str]:
        names = [View(snapshot, CLUSTER).acting if found.where == CLUSTER else found.where for found in due]
        return list(dict.fromkeys(names))


def describe(found: StepState) -> str:
    """The first open check of a step in words."""
    for judgement in found.judgements:
        if judgement.result:
            return f"{found.where}: {judgement.result}"
        if judgement.outcome == "unknown":
            return f"{found.where}: {judgement.id}: {judgement.why}"
    return found.where
