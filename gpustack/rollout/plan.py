"""Compares what was asked with what should be: the state of every step at every place, in the order of STEPS."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpustack.ask.judge import Check, Judgement, Result, judge
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command
from gpustack.config.inventory import Inventory
from gpustack.errors import RolloutError
from gpustack.steps.step import Step

Standing = Literal["ok", "failed", "unknown", "pending"]


@dataclass(frozen=True)
class StepState:
    """`where` is a host or @cluster. `after` names the drifted step that this one waits for: behind it, unknown is
    `pending`, and what is broken may be so because of it."""

    step: str
    where: str
    outcome: Standing
    judgements: tuple[Judgement, ...]
    after: str = ""

    @property
    def differences(self) -> tuple[Result, ...]:
        return tuple(found.result for found in self.judgements if found.result)

    @property
    def left(self) -> tuple[tuple[str, Result], ...]:
        """By check, what `install` leaves to a person."""
        results = ((found.id, found.result) for found in self.judgements)
        return tuple((check, one) for check, one in results if one and one.cure != "install")


@dataclass(frozen=True)
class Plan:
    """`reach` and the facts are those of `snapshot`; a plan of `--only` or `--limit` has fewer states."""

    snapshot: Snapshot
    states: tuple[StepState, ...]

    @property
    def inventory(self) -> Inventory:
        return self.snapshot.inventory

    @property
    def unreached(self) -> tuple[str, ...]:
        return tuple(name for name, reach in self.snapshot.reach.items() if not reach.reached)

    @property
    def drifted(self) -> tuple[StepState, ...]:
        return tuple(state for state in self.states if state.outcome == "failed")

    @property
    def unknown(self) -> tuple[StepState, ...]:
        return tuple(state for state in self.states if state.outcome == "unknown")

    @property
    def refused(self) -> tuple[tuple[StepState, Result], ...]:
        """What `install` does not repair: another version of a running component, or what only a person can do."""
        return tuple((state, found) for state in self.states for found in state.differences if found.cure != "install")

    @property
    def converged(self) -> bool:
        return not self.unreached and all(state.outcome == "ok" for state in self.states)


@dataclass(frozen=True)
class Verification:
    """The plan after gathering again. `seconds` for all of it, `questions` is the number of answers."""

    plan: Plan
    seconds: float
    questions: int


@dataclass(frozen=True)
class Played:
    """What one playbook did: its hosts, those it changed and those it failed on, its duration in seconds, and the
    command that plays it without gpustack."""

    step: str
    hosts: tuple[str, ...]
    changed: tuple[str, ...]
    failed: tuple[str, ...]
    failures: tuple["TaskFailure", ...]
    seconds: float
    command: Command
    tasks_changed: int = 0


@dataclass(frozen=True)
class TaskFailure:
    """A task that failed on a host. `path` is file:line. `unreachable`: the connection failed."""

    host: str
    task: str
    path: str
    message: str
    unreachable: bool = False


@dataclass(frozen=True)
class Outcome:
    """What `install` did and where it ended. `left` are hosts that left the rollout, with the step they left at."""

    before: Plan
    played: tuple[Played, ...]
    verification: Verification
    left: tuple[tuple[str, str], ...]
    seconds: float
    stopped: str = ""


def find_locations(step: Step, inventory: Inventory, limit: Sequence[str] = ()) -> Iterator[str]:
    """Where a step is judged: its hosts, or @cluster."""
    hosts = [host for host in inventory.hosts if step.applies(inventory, host)]
    if step.scope == "cluster":
        planes = [host for host in hosts if host.control_plane]
        if planes and (not limit or any(host.name in limit for host in planes)):
            yield CLUSTER
        return
    yield from (host.name for host in hosts if not limit or host.name in limit)


def judge_step(step: Step, snapshot: Snapshot, where: str) -> StepState:
    host = snapshot.inventory.by_name.get(where)
    checks = step.checks_of(host) if host else step.checks
    judgements = tuple(judge(check_id(check), check, snapshot, where) for check in checks)
    outcomes = {one.outcome for one in judgements}
    outcome: Standing = "failed" if "failed" in outcomes else "unknown" if "unknown" in outcomes else "ok"
    return StepState(step.id, where, outcome, judgements)


def check_id(check: Check) -> str:
    return check.__name__.replace("_", "-")


def plan(snapshot: Snapshot, steps: Iterable[Step], limit: Sequence[str] = ()) -> Plan:
    """Judges every step everywhere. Unknown behind a drifted need is `pending`."""
    judged: list[StepState] = []
    steps = tuple(steps)
    needs = {step.id: step.depends for step in steps}
    behind: dict[tuple[str, str], str] = {}
    for step in steps:
        above = all_needs(step.id, needs)
        for where in find_locations(step, snapshot.inventory, limit):
            found = alone = judge_step(step, snapshot, where)
            if alone.outcome in ("failed", "unknown"):
                needed = find_blocking(above, alone.where, behind, snapshot.inventory)
                found = wait_for(alone, needed) if needed and is_reachable(snapshot, alone.where) else alone
            if found.outcome in ("failed", "pending"):
                behind[step.id, found.where] = step.id
            judged.append(found)
    return Plan(snapshot, tuple(judged))


def refuse_unplayable(before: Plan) -> None:
    """Raises RolloutError where install can repair nothing of what differs: it needs a person, or is unknown."""
    if any(mismatch.cure == "install" for found in before.drifted for mismatch in found.differences):
        return
    hints = dict.fromkeys(mismatch.hint for _, mismatch in before.refused if mismatch.hint)
    why = "\n".join(f"{state.where}: {mismatch}" for state, mismatch in before.refused)
    unknown = "\n".join(f"{state.where}: {state.step} could not be checked" for state in before.unknown)
    upgrade = any(mismatch.cure == "upgrade" for _, mismatch in before.refused)
    reference = "upgrade-needed" if upgrade else "operator-needed" if before.refused else "undetermined"
    unreached = "\n".join(f"{name} was not reached" for name in before.unreached)
    text = "\n".join(filter(None, (why, unknown))) or unreached
    message = "There is nothing that install may change; nothing was changed."
    raise RolloutError(reference, message, text, next(iter(hints), Command("gpustack", "plan", "-v")))


def wait_for(found: StepState, need: str) -> StepState:
    return replace(found, outcome="pending" if found.outcome == "unknown" else "failed", after=need)


def all_needs(step: str, needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What a step needs, and what that needs in its turn, the nearest first."""
    found = list(needs.get(step, ()))
    for need in found:
        found += [further for further in needs.get(need, ()) if further not in found]
    return found


def find_blocking(needs: Sequence[str], where: str, behind: Mapping[tuple[str, str], str], inventory: Inventory) -> str:
    """The drifted step that this one waits for: at the same place, at the cluster, or, for a cluster, on any host."""
    for need in needs:
        locations = [CLUSTER, where] if where != CLUSTER else [CLUSTER, *(host.name for host in inventory.in_cluster)]
        if any((need, spot) in behind for spot in locations):
            return need
    return ""


def is_reachable(snapshot: Snapshot, where: str) -> bool:
    if where == CLUSTER:
        return any(snapshot.reach[host.name].reached for host in snapshot.inventory.control_planes)
    return snapshot.reach[where].reached
