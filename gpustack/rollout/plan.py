"""The comparison of facts with the spec: the state of every step at every location, in the order of STEPS."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from gpustack.ask.judge import Judgement, Result, judge
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command
from gpustack.config.inventory import Inventory
from gpustack.errors import RolloutError
from gpustack.events import INTERRUPTION
from gpustack.exit_status import ExitStatus, select_status
from gpustack.rollout.gpus import Gpus, count_gpus
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.step import Step, format_check_name

Standing = Literal["ok", "failed", "unknown", "pending"]


@dataclass(frozen=True)
class StepState:
    """Hold the state of a step at a location, a host or @cluster. `after` names the drifted step that this one waits
    for: behind it an unknown outcome is `pending`, and what is broken may be so because of it."""

    step: str
    location: str
    outcome: Standing
    judgements: tuple[Judgement, ...]
    after: str = ""

    @property
    def differences(self) -> tuple[Result, ...]:
        """Return what is not as it should be. A check that passes may have a result, too, which says something."""
        return tuple(result for judgement in self.judgements if (result := judgement.result) and not result.ok)

    @property
    def manual_differences(self) -> tuple[tuple[str, Result], ...]:
        """Return by check what `install` leaves to a person."""
        results = ((judgement.id, judgement.result) for judgement in self.judgements)
        return tuple(
            (check, result) for check, result in results if result and not result.ok and result.cure != "install"
        )


@dataclass(frozen=True)
class Plan:
    """Hold the states of steps. `reach` and the facts are those of `snapshot`; a plan of `--only` or `--limit` has
    fewer states."""

    snapshot: Snapshot
    states: tuple[StepState, ...]

    @property
    def inventory(self) -> Inventory:
        return self.snapshot.inventory

    @cached_property
    def gpus(self) -> Gpus | None:
        """Return the counts of the GPUs, or None where no host has a GPU or no host could be asked."""
        return count_gpus(self.snapshot)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Return what differs in nothing and still has to be known, in sentences."""
        return list_warnings(self.snapshot)

    @property
    def unreachable_hosts(self) -> tuple[str, ...]:
        return tuple(name for name, reach in self.snapshot.reach.items() if not reach.reached)

    @property
    def drifted_states(self) -> tuple[StepState, ...]:
        return tuple(state for state in self.states if state.outcome == "failed")

    @property
    def unknown(self) -> tuple[StepState, ...]:
        return tuple(state for state in self.states if state.outcome == "unknown")

    @property
    def manual_differences(self) -> tuple[tuple[StepState, Result], ...]:
        """Return what `install` does not repair: another version of a running component, or what only a person can
        do."""
        return tuple(
            (state, difference)
            for state in self.states
            for difference in state.differences
            if difference.cure != "install"
        )

    @property
    def converged(self) -> bool:
        return not self.unreachable_hosts and all(state.outcome == "ok" for state in self.states)

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(differs=self.drifted_states, unknown=not self.converged)


@dataclass(frozen=True)
class Verification:
    """Hold the plan after gathering again. `seconds` is the time for all of it, `questions` the number of answers."""

    plan: Plan
    seconds: float
    questions: int

    @property
    def exit_status(self) -> ExitStatus:
        return self.plan.exit_status


@dataclass(frozen=True)
class PlaybookRun:
    """Describe the run of one playbook: its hosts, those it changed and those it failed on, its duration in seconds,
    and the command that plays it without gpustack."""

    step: str
    hosts: tuple[str, ...]
    changed_hosts: tuple[str, ...]
    failed_hosts: tuple[str, ...]
    failures: tuple["TaskFailure", ...]
    seconds: float
    command: Command
    tasks_changed: int = 0


@dataclass(frozen=True)
class TaskFailure:
    """Describe a task that failed on a host. `path` is file:line. `unreachable` tells whether the connection failed."""

    host: str
    task: str
    path: str
    message: str
    unreachable: bool = False


@dataclass(frozen=True)
class Outcome:
    """Describe a run of `install` and its end. `stopped_hosts` are hosts that left the rollout, with the step they left
    at."""

    before: Plan
    playbook_runs: tuple[PlaybookRun, ...]
    verification: Verification
    stopped_hosts: tuple[tuple[str, str], ...]
    seconds: float
    stop_reason: str = ""

    @property
    def exit_status(self) -> ExitStatus:
        """Return the status of the run. A `pending` state waits for one that differs, so it needs none of its own."""
        after, has_failed = self.verification.plan, any(run.failures for run in self.playbook_runs)
        return select_status(
            interrupted=self.stop_reason == INTERRUPTION,
            failed=self.stop_reason or after.manual_differences or has_failed,
            incomplete=after.drifted_states and self.playbook_runs,
            differs=after.drifted_states,
            unknown=not after.converged,
        )


def build_verification(plan: Plan) -> Verification:
    """Build the verification of a plan for which nothing was gathered again."""
    return Verification(plan, plan.snapshot.seconds, len(plan.snapshot.answers))


def build_idle_outcome(plan: Plan) -> Outcome:
    """Build the outcome of an `install` that found everything converged, and ran nothing."""
    return Outcome(plan, (), build_verification(plan), (), plan.snapshot.seconds)


def find_locations(step: Step, inventory: Inventory, limit: Sequence[str] = ()) -> Iterator[str]:
    """List where a step is judged: its hosts, or @cluster."""
    hosts = [host for host in inventory.hosts if step.applies(inventory, host)]
    if step.scope == "cluster":
        planes = [host for host in hosts if host.control_plane]
        if planes and (not limit or any(host.name in limit for host in planes)):
            yield CLUSTER
        return
    yield from (host.name for host in hosts if not limit or host.name in limit)


def judge_step(step: Step, snapshot: Snapshot, location: str) -> StepState:
    host = snapshot.inventory.by_name.get(location)
    checks = step.list_checks(host) if host else step.checks
    judgements = tuple(judge(format_check_name(check), check, snapshot, location) for check in checks)
    outcomes = {judgement.outcome for judgement in judgements}
    outcome: Standing = "failed" if "failed" in outcomes else "unknown" if "unknown" in outcomes else "ok"
    return StepState(step.id, location, outcome, judgements)


def plan(snapshot: Snapshot, steps: Iterable[Step], limit: Sequence[str] = ()) -> Plan:
    """Judge every step at every location. An unknown outcome behind a drifted need is `pending`."""
    states: list[StepState] = []
    steps = tuple(steps)
    needs = {step.id: step.dependencies for step in steps}
    drifted_steps: dict[tuple[str, str], str] = {}
    for step in steps:
        needed_steps = list_needs(step.id, needs)
        for location in find_locations(step, snapshot.inventory, limit):
            step_state = alone = judge_step(step, snapshot, location)
            if alone.outcome in ("failed", "unknown"):
                blocking_step = find_blocking(needed_steps, alone.location, drifted_steps, snapshot.inventory)
                step_state = (
                    wait_for(alone, blocking_step)
                    if blocking_step and is_reachable(snapshot, alone.location)
                    else alone
                )
            if step_state.outcome in ("failed", "pending"):
                drifted_steps[step.id, step_state.location] = step.id
            states.append(step_state)
    return Plan(snapshot, tuple(states))


def refuse_unplayable(before: Plan) -> None:
    """Raise RolloutError where install can repair nothing of what differs: it needs a person first, or is unknown."""
    if has_playable_step(before):
        return
    hints = dict.fromkeys(mismatch.hint for _, mismatch in before.manual_differences if mismatch.hint)
    reason = "\n".join(f"{state.location}: {mismatch}" for state, mismatch in before.manual_differences)
    unknown = "\n".join(f"{state.location}: {state.step} could not be checked" for state in before.unknown)
    upgrade = any(mismatch.cure == "upgrade" for _, mismatch in before.manual_differences)
    reference = "upgrade-needed" if upgrade else "operator-needed" if before.manual_differences else "undetermined"
    unreachable = "\n".join(f"{name} was not reached" for name in before.unreachable_hosts)
    text = "\n".join(filter(None, (reason, unknown))) or unreachable
    message = "There is nothing that install may change; nothing was changed."
    raise RolloutError(reference, message, text, next(iter(hints), Command("gpustack", "plan", "-v")))


def has_playable_step(before: Plan) -> bool:
    """Tell whether a playbook would run. A host on which a step needs a person is left out from there on, and behind
    such a control plane no step follows."""
    planes, stopped_hosts, last_step = {host.name for host in before.inventory.control_planes}, set(), ""
    for state in before.states:
        if last_step not in ("", state.step):
            return False
        if state.manual_differences and state.location != CLUSTER:
            stopped_hosts.add(state.location)
            last_step = state.step if state.location in planes else last_step
        elif state.outcome == "failed" and not state.manual_differences and state.location not in stopped_hosts:
            return True
    return False


def wait_for(step_state: StepState, need: str) -> StepState:
    return replace(step_state, outcome="pending" if step_state.outcome == "unknown" else "failed", after=need)


def list_needs(step: str, needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """List the steps that a step needs, and those that they need in turn, the nearest first."""
    needed_steps = list(needs.get(step, ()))
    for need in needed_steps:
        needed_steps += [further for further in needs.get(need, ()) if further not in needed_steps]
    return needed_steps


def find_blocking(
    needs: Sequence[str], location: str, drifted_steps: Mapping[tuple[str, str], str], inventory: Inventory
) -> str:
    """Find the drifted step that this one waits for: at the same location, at the cluster, or, for a cluster, on any
    host. Return an empty text where there is none."""
    for need in needs:
        locations = (
            [CLUSTER, location] if location != CLUSTER else [CLUSTER, *(host.name for host in inventory.cluster_hosts)]
        )
        if any((need, spot) in drifted_steps for spot in locations):
            return need
    return ""


def is_reachable(snapshot: Snapshot, location: str) -> bool:
    if location == CLUSTER:
        return any(snapshot.reach[host.name].reached for host in snapshot.inventory.control_planes)
    return snapshot.reach[location].reached
