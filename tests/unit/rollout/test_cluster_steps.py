"""Steps of the cluster that fail: they take with them what needs them, and no other; and no host, and no rollout."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gpustack.ask.judge import Cure, Result
from gpustack.ask.probe import CLUSTER, Answer, Api, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.events import Event, ignore_event
from gpustack.rollout import waiting
from gpustack.rollout.plan import Outcome, PlaybookRun, TaskFailure, plan
from gpustack.rollout.rollout import Rollout
from gpustack.steps.step import Step
from tests.unit.rollout.rollout_run import INVENTORY, World, build_step


def build_cluster_step(name: str, needs: tuple[str, ...] = (), cure: Cure = "install") -> Step:
    """Build a step whose only fact is the cluster's."""
    probe = Probe(name, Api("/"), lambda answer: answer.stdout)

    def check(view: View) -> Result | None:
        fact = view[probe]
        return None if fact == "good" else Result(name, "good", fact, cure)

    return Step(name, "cluster", (probe,), (check,), needs, settle_seconds=0)


class Cluster(World):
    """A world whose cluster has facts of its own, by (probe, CLUSTER); `unknown` is none. `idle` steps fix nothing."""

    def __init__(self, facts: dict[tuple[str, str], str], fails: Sequence[str] = (), idle: Sequence[str] = ()) -> None:
        super().__init__(facts, [(name, "h1") for name in fails])
        self.idle = idle

    def gather(self, probes: Sequence[Probe[Any]], names: Sequence[str]) -> Snapshot:
        snapshot = super().gather(probes, names)
        cluster = {
            (probe.id, CLUSTER): Answer(probe.id, CLUSTER, 0, self.facts.get((probe.id, CLUSTER), "bad"))
            for probe in probes
            if probe.scope == "cluster"
        }
        unknown = {key for key in cluster if self.facts.get(key) == "unknown"}
        answers = {key: answer for key, answer in {**snapshot.answers, **cluster}.items() if key not in unknown}
        return Snapshot(datetime.now(UTC), INVENTORY, snapshot.reach, answers)

    def play(self, step_to_play: Step, hosts: Sequence[str], snapshot: Snapshot) -> PlaybookRun:
        run = super().play(step_to_play, hosts, snapshot)
        if step_to_play.id not in self.idle and not run.failed_hosts:
            self.facts[step_to_play.id, CLUSTER] = "good"
        return run


def run(world: World, *steps: Step, **options: Any) -> Outcome:
    before = plan(world.gather([probe for step in steps for probe in step.probes], ()), steps)
    return Rollout(INVENTORY, steps, world.gather, world.play, ignore_event, **options).run(before)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PAUSE", 0.0)


MONITORING, DASHBOARDS = build_cluster_step("monitoring"), build_cluster_step("dashboards", ("monitoring",))
BOARDS_OF_BOARDS = build_cluster_step("third", ("dashboards",))
GPUS = build_cluster_step("gpus")
ALL_STEPS = (MONITORING, DASHBOARDS, BOARDS_OF_BOARDS, GPUS, build_step("hosts"))
OTHER_RUNS = [("monitoring", ("h1",)), ("gpus", ("h1",)), ("hosts", ("h1", "h2", "h3"))]


@pytest.mark.parametrize(
    "world",
    [Cluster({}, fails=["monitoring"]), Cluster({}, idle=["monitoring"])],
    ids=["its playbook fails", "its playbook changes nothing"],
)
def test_what_needs_it_is_not_played_also_not_at_second_hand_and_the_others_are(world: Cluster) -> None:
    outcome = run(world, *ALL_STEPS)
    assert world.plays == OTHER_RUNS
    assert not outcome.stop_reason
    assert outcome.stopped_hosts == ()
    assert not outcome.verification.plan.converged


@pytest.mark.parametrize("answer", ["unknown", "bad"])
def test_what_is_unknown_or_for_a_person_blocks_as_well(answer: str) -> None:
    world = Cluster({("monitoring", CLUSTER): answer})
    first = build_cluster_step("monitoring", cure="operator") if answer == "bad" else MONITORING
    outcome = run(world, first, *ALL_STEPS[1:])
    assert world.plays == OTHER_RUNS[1:]
    assert not outcome.stop_reason


def test_one_that_holds_blocks_nothing() -> None:
    world = Cluster({("monitoring", CLUSTER): "good"})
    assert run(world, *ALL_STEPS).verification.plan.converged
    assert [name for name, _ in world.plays] == ["dashboards", "third", "gpus", "hosts"]


def test_a_control_plane_that_fails_a_step_of_hosts_stops_as_before() -> None:
    world = Cluster({}, fails=["hosts"])
    outcome = run(world, build_step("hosts"), *ALL_STEPS[:1])
    assert [name for name, _ in world.plays] == ["hosts"]
    assert "h1" in outcome.stop_reason


def test_what_failed_is_in_the_outcome() -> None:
    outcome = run(Cluster({}, fails=["monitoring"]), *ALL_STEPS)
    (failed_run,) = [run for run in outcome.playbook_runs if run.failed_hosts]
    assert (failed_run.step, failed_run.failures) == ("monitoring", (TaskFailure("h1", "Ensure it", "x.yml:1", "no"),))


class Slow(Cluster):
    """Facts of `slow` become good only when the steps in `after` have been played."""

    def __init__(self, slow: str, after: str) -> None:
        super().__init__({}, idle=[slow])
        self.slow, self.after = slow, after

    def play(self, step_to_play: Step, hosts: Sequence[str], snapshot: Snapshot) -> PlaybookRun:
        run = super().play(step_to_play, hosts, snapshot)
        if step_to_play.id == self.after:
            self.facts[self.slow, CLUSTER] = "good"
        return run


def test_a_step_of_the_cluster_settles_while_others_are_played() -> None:
    world = Slow("monitoring", after="hosts")
    steps = (MONITORING, GPUS, build_step("hosts"), DASHBOARDS)
    assert run(world, *steps).verification.plan.converged
    assert [name for name, _ in world.plays] == ["monitoring", "gpus", "hosts", "dashboards"]


def test_what_follows_is_played_before_the_other_has_settled_and_settles_after_it() -> None:
    follower = replace(build_cluster_step("storage"), predecessors=("monitoring",))
    world = Slow("monitoring", after="storage")
    assert run(world, MONITORING, follower, build_step("hosts")).verification.plan.converged
    failing = run(Cluster({}, idle=["monitoring"]), MONITORING, follower, build_cluster_step("on-it", ("storage",)))
    assert [run.step for run in failing.playbook_runs] == ["monitoring", "storage"]


def test_a_step_of_hosts_settles_after_what_it_follows() -> None:
    events: list[Event] = []
    joining = replace(build_step("hosts"), predecessors=("monitoring",))
    world = Slow("monitoring", after="hosts")
    before = plan(world.gather([*MONITORING.probes, *joining.probes], ()), (MONITORING, joining))
    outcome = Rollout(INVENTORY, (MONITORING, joining), world.gather, world.play, events.append).run(before)
    assert outcome.verification.plan.converged
    assert [event.subject for event in events if event.kind == "done"] == ["monitoring", "hosts"]


def test_a_step_of_hosts_does_not_wait_for_what_failed_before_it() -> None:
    events: list[Event] = []
    joining = replace(build_step("hosts"), predecessors=("monitoring",))
    world = Cluster({}, idle=["monitoring"])
    before = plan(world.gather([*MONITORING.probes, *joining.probes], ()), (MONITORING, joining))
    outcome = Rollout(INVENTORY, (MONITORING, joining), world.gather, world.play, events.append).run(before)
    assert [run.step for run in outcome.playbook_runs] == ["monitoring", "hosts"]
    assert [event.subject for event in events if event.kind == "done"] == ["monitoring"]
    assert not outcome.verification.plan.converged
