"""The installation: per step, what differs → the playbook on those hosts → ask again → the step's checks, until they
hold.

A host that fails leaves the rollout, the others go on; a control plane that fails stops it. A step of the cluster that
does not come right blocks the steps that need it, and no other: without Prometheus there are GPUs all the same.
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
from gpustack.probes.containerd.pull_progress import PULL_PROGRESS
from gpustack.rollout import waiting
from gpustack.rollout.plan import (
    Outcome,
    Plan,
    PlaybookRun,
    StepState,
    Verification,
    build_verification,
    judge_step,
    list_needs,
    plan,
)
from gpustack.rollout.waiting import Patience, Settling, needs_person
from gpustack.steps.step import Step, select_probes

Gather = Callable[[Sequence[Probe[Any]], Sequence[str]], Snapshot]
"""Such a function asks probes of hosts (all when empty)."""
Play = Callable[[Step, Sequence[str], Snapshot], PlaybookRun]


@dataclass
class Rollout:
    """Run steps in order. `limit` are host names (all when empty); `force` plays also what holds; `find_stop_reason`
    says why the run is to stop, and is empty while it is not. `gather_seconds` is the duration of the last
    gathering."""

    inventory: Inventory
    steps: Sequence[Step]
    gather: Gather
    play: Play
    report: Reporter
    limit: Sequence[str] = ()
    force: bool = False
    find_stop_reason: Callable[[], str] = lambda: ""
    stopped_hosts: dict[str, str] = field(default_factory=dict)
    playbook_runs: list[PlaybookRun] = field(default_factory=list)
    blocked_steps: set[str] = field(default_factory=set)
    asked_probes: set[str] = field(default_factory=set)
    settling: dict[str, tuple[Step, list[StepState]]] = field(default_factory=dict)
    stop_reason: str = ""
    gather_seconds: float = 0.0

    def run(self, before: Plan) -> Outcome:
        """Run all steps. Nothing is raised for a failing host or task: the outcome says what happened."""
        started_at = time.monotonic()
        snapshot = before.snapshot
        self.stopped_hosts = dict.fromkeys(before.unreachable_hosts, "reach")
        for index, step in enumerate(self.steps):
            if self.stop_reason or self.find_stop_reason():
                break
            snapshot = self.settle_some(self.find_needed(step.needs), snapshot)
            if self.blocked_steps & set(step.dependencies):
                self.blocked_steps.add(step.id)
                continue
            snapshot = self.run_step(step, snapshot, self.steps[index + 1] if index + 1 < len(self.steps) else None)
        self.settle_some(list(self.settling), snapshot)
        self.stop_reason = self.find_stop_reason() or self.stop_reason
        verification = self.verify() if self.playbook_runs else build_verification(before)
        playbook_runs, stopped_hosts, seconds = (
            tuple(self.playbook_runs),
            tuple(self.stopped_hosts.items()),
            time.monotonic() - started_at,
        )
        return Outcome(before, playbook_runs, verification, stopped_hosts, seconds, self.stop_reason)

    def verify(self) -> Verification:
        """Gather everything again. Failures that pass by themselves get a last while: a later step may have moved what
        an earlier one had seen settled (a target that is scraped under another name)."""
        last = waiting.LAST * self.factor
        deadline = time.monotonic() + last
        while True:
            snapshot = self.time_gather(select_probes(self.steps, self.inventory), ())
            seconds, current_plan = self.gather_seconds, plan(snapshot, self.steps, self.limit)
            open_states = [
                state for state in current_plan.states if state.outcome != "ok" and self.is_active(state.location)
            ]
            may_pass = open_states and all(map(self.is_passing, open_states))
            if not may_pass or time.monotonic() > deadline or self.find_stop_reason():
                return Verification(current_plan, seconds, len(snapshot.answers))
            seconds_passed = last - (deadline - time.monotonic())
            self.report(Event("waiting", open_states[0].step, describe_state(open_states[0]), seconds_passed))
            self.pause_between_rounds()

    def run_step(self, step: Step, snapshot: Snapshot, following: Step | None) -> Snapshot:
        snapshot = self.refresh(step, snapshot)
        states = self.judge(step, snapshot)
        due = [state for state in states if self.is_due(state)]
        if due and not self.playbook_runs:
            # The plan is older than the confirmation and the lock: the hosts may have changed since.
            snapshot = self.ask(snapshot, step.probes)
            states = self.judge(step, snapshot)
            due = [state for state in states if self.is_due(state)]
        self.drop_undecided(step, states)
        hosts = self.choose_hosts(due, snapshot)
        if not hosts:
            return snapshot
        self.report(Event("step", step.id, ", ".join(hosts)))
        playbook_run = self.play(step, hosts, snapshot)
        self.playbook_runs.append(playbook_run)
        self.asked_probes = set()
        for name in playbook_run.failed_hosts:
            self.drop(CLUSTER if step.scope == "cluster" else name, step)
        if self.stop_reason or step.id in self.blocked_steps:
            return snapshot
        if step.scope == "cluster" and following:
            self.settling[step.id] = (step, due)
            return snapshot
        snapshot = self.settle_some(self.find_needed(step.dependencies), snapshot)
        if self.blocked_steps & set(step.dependencies):
            self.blocked_steps.add(step.id)
            return snapshot
        probes = [*step.probes, *(following.probes if following else ())]
        return self.settle(step, due, self.ask(snapshot, probes))

    def find_needed(self, ids: Sequence[str]) -> list[str]:
        """Find the steps that still settle and that these steps are or depend on."""
        dependencies = {step.id: step.dependencies for step in self.steps}
        return [
            id for id in self.settling if id in ids or any(id in list_needs(step_id, dependencies) for step_id in ids)
        ]

    def settle_some(self, ids: Sequence[str], snapshot: Snapshot) -> Snapshot:
        """Wait for these steps to settle. A step of the cluster settles while later steps are played, until one of them
        needs it: an image is pulled while a driver is compiled."""
        for id in ids:
            step, due = self.settling.pop(id)
            if self.blocked_steps & set(step.dependencies):
                self.blocked_steps.add(id)
            elif not (self.stop_reason or self.find_stop_reason()):
                snapshot = self.settle(step, due, self.ask(snapshot, step.probes))
        return snapshot

    def refresh(self, step: Step, snapshot: Snapshot) -> Snapshot:
        """Ask again what was asked before the last play. What is unknown, refused or passing may only not be back yet
        after what an earlier step restarted: it gets the step's time to settle, and less where all of it is for a
        person, or where a play would do no harm."""
        if not self.playbook_runs:
            return snapshot
        patience = Patience(self.factor)
        if not {probe.id for probe in step.probes} <= self.asked_probes:
            snapshot = self.ask(snapshot, step.probes)
        deadline, started_at = time.monotonic() + step.settle_seconds * self.factor, time.monotonic()
        while time.monotonic() < deadline and not self.find_stop_reason():
            seconds_passed = time.monotonic() - started_at
            may_pass = seconds_passed < waiting.FIRST * self.factor and not self.force
            states = self.judge(step, snapshot)
            open_states = [
                state for state in states if self.is_undecided(state) or (may_pass and self.is_passing(state))
            ]
            if not open_states or patience.is_over(open_states):
                break
            self.report(Event("waiting", step.id, describe_state(open_states[0]), seconds_passed))
            self.pause_between_rounds()
            snapshot = self.ask(snapshot, step.probes)
        return snapshot

    @property
    def factor(self) -> int:
        return self.inventory.spec.timeout_factor

    def judge(self, step: Step, snapshot: Snapshot) -> list[StepState]:
        return [state for state in plan(snapshot, [step], self.limit).states if self.is_active(state.location)]

    def ask(self, snapshot: Snapshot, probes: Sequence[Probe[Any]]) -> Snapshot:
        self.asked_probes |= {probe.id for probe in probes}
        return snapshot.merge_snapshot(self.time_gather(probes, self.list_active()))

    def time_gather(self, probes: Sequence[Probe[Any]], hosts: Sequence[str]) -> Snapshot:
        started_at = time.monotonic()
        try:
            return self.gather(probes, hosts)
        finally:
            self.gather_seconds = time.monotonic() - started_at

    def pause_between_rounds(self) -> None:
        waiting.pause_between_rounds(self.gather_seconds, self.find_stop_reason, waiting.PAUSE)

    def settle(self, step: Step, due: Sequence[StepState], snapshot: Snapshot) -> Snapshot:
        """Ask again until no check is broken or unknown, or the time to settle is over, or all that is left has been
        for a person for a while."""
        limit = max(
            (step.compute_settle_seconds(View(snapshot, step_state.location)) for step_state in due),
            default=step.settle_seconds,
        )
        patience, settling = Patience(self.factor), Settling(limit * self.factor, self.factor)
        locations = [due_state.location for due_state in due if self.is_active(due_state.location)]
        while True:
            states = [judge_step(step, snapshot, location) for location in locations]
            open_states = [state for state in states if state.outcome != "ok"]
            if not open_states or settling.is_over() or patience.is_over(open_states) or self.find_stop_reason():
                break
            self.report(Event("waiting", step.id, describe_state(open_states[0]), settling.seconds))
            self.pause_between_rounds()
            snapshot = self.ask(snapshot, [*step.probes, PULL_PROGRESS] if step.pulls else step.probes)
            settling.update_progress(snapshot)
        limit_text = settling.describe() if settling.is_over() else ""
        is_stopped = bool(open_states and self.find_stop_reason())
        for open_state in open_states:
            if not is_stopped:
                text = describe_state(open_state).removeprefix(f"{open_state.location}: ")
                self.report(Event("failed", open_state.location, text + limit_text))
            self.drop(open_state.location, step)
        self.report(Event("done", step.id, "stopped" if is_stopped else "", settling.seconds))
        return snapshot

    def is_due(self, step_state: StepState) -> bool:
        """Tell whether a step drifted in a way that its playbook repairs; when forced, every step that needs no person
        is due."""
        if needs_person(step_state):
            return False
        return self.force or step_state.outcome == "failed"

    def is_undecided(self, step_state: StepState) -> bool:
        """Tell whether the state of a step is unknown, or needs a person first."""
        return needs_person(step_state) or (step_state.outcome == "unknown" and not self.force)

    def is_passing(self, step_state: StepState) -> bool:
        """Tell whether all that is open passes by itself."""
        open_judgements = [judgement for judgement in step_state.judgements if judgement.outcome != "ok"]
        return bool(open_judgements) and all(
            judgement.result and judgement.result.passing for judgement in open_judgements
        )

    def drop_undecided(self, step: Step, states: Sequence[StepState]) -> None:
        """Drop each host of which the state is unknown, or which needs a person first: no later step may build on this
        one there."""
        for state in states:
            if self.is_undecided(state):
                self.drop(state.location, step)

    def drop(self, host: str, step: Step) -> None:
        """Take a host out of the rollout at this step. For the cluster, block what needs the step."""
        if host == CLUSTER:
            self.blocked_steps.add(step.id)
            return
        self.stopped_hosts.setdefault(host, step.id)
        if any(plane.name == host for plane in self.inventory.control_planes):
            self.stop_reason = self.stop_reason or f"the control plane {host} did not get past {step.id}"

    def is_active(self, location: str) -> bool:
        return location == CLUSTER or location not in self.stopped_hosts

    def list_active(self) -> list[str]:
        return [host.name for host in self.inventory.hosts if host.name not in self.stopped_hosts]

    def choose_hosts(self, due: Sequence[StepState], snapshot: Snapshot) -> list[str]:
        names = [
            View(snapshot, CLUSTER).acting_host if step_state.location == CLUSTER else step_state.location
            for step_state in due
        ]
        return list(dict.fromkeys(names))


def describe_state(step_state: StepState) -> str:
    """Describe the first open check of a step."""
    for judgement in step_state.judgements:
        if judgement.result:
            return f"{step_state.location}: {judgement.result}"
        if judgement.outcome == "unknown":
            return f"{step_state.location}: {judgement.id}: {judgement.reason}"
    return step_state.location
