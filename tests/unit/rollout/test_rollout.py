"""The rollout on invented hosts: who is played, who leaves, what stops, and that asking again decides."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.judge import Cure
from gpustack.ask.probe import Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command
from gpustack.events import ignore_event
from gpustack.rollout import waiting
from gpustack.rollout.plan import Outcome, PlaybookRun, plan
from gpustack.rollout.rollout import Rollout
from gpustack.steps.step import Step
from tests.unit.rollout.rollout_run import HOSTS, INVENTORY, World, build_step


def run(world: World, *steps: Step, **options: Any) -> Outcome:
    before = plan(world.gather([probe for step in steps for probe in step.probes], ()), steps)
    return Rollout(INVENTORY, steps, world.gather, world.play, ignore_event, **options).run(before)


A, B = build_step("a"), build_step("b", ("a",))


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PAUSE", 0.0)
    monkeypatch.setattr(waiting, "LAST", 0.0)


def test_only_drifted_hosts_are_played() -> None:
    world = World({("a", "h1"): "good", ("b", "h1"): "good", ("b", "h2"): "good", ("b", "h3"): "good"})
    outcome = run(world, A, B)
    assert world.plays == [("a", ("h2", "h3"))]
    assert outcome.verification.plan.converged


def test_what_somebody_else_did_before_we_had_the_lock_counts() -> None:
    world = World({("a", "h1"): "good"})
    before = plan(world.gather([probe for step in (A, B) for probe in step.probes], ()), (A, B))
    world.facts["a", "h2"] = "good"
    Rollout(INVENTORY, (A, B), world.gather, world.play, ignore_event).run(before)
    assert world.plays == [("a", ("h3",)), ("b", ("h1", "h2", "h3"))]


def test_a_converged_cluster_plays_nothing() -> None:
    world = World({(name, host.name): "good" for name in "ab" for host in HOSTS})
    assert run(world, A, B).verification.plan.converged
    assert world.plays == []


def test_force_plays_all_steps() -> None:
    world = World({(name, host.name): "good" for name in "ab" for host in HOSTS})
    run(world, A, B, force=True)
    assert [name for name, _ in world.plays] == ["a", "b"]


def test_a_failing_host_leaves_and_the_others_go_on() -> None:
    world = World({}, fails=[("a", "h2")])
    outcome = run(world, A, B)
    assert world.plays == [("a", ("h1", "h2", "h3")), ("b", ("h1", "h3"))]
    assert outcome.stopped_hosts == (("h2", "a"),)
    assert not outcome.stop_reason


def test_a_failing_control_plane_stops() -> None:
    world = World({}, fails=[("a", "h1")])
    outcome = run(world, A, B)
    assert [name for name, _ in world.plays] == ["a"]
    assert "h1" in outcome.stop_reason


def test_a_dead_host_is_left_out() -> None:
    world = World({}, dead=["h3"])
    outcome = run(world, A, B)
    assert world.plays == [("a", ("h1", "h2")), ("b", ("h1", "h2"))]
    assert outcome.stopped_hosts == (("h3", "reach"),)
    assert not outcome.verification.plan.converged


@pytest.mark.parametrize("cure", ["upgrade", "operator"])
def test_what_install_may_not_fix_is_not_played(cure: Cure) -> None:
    world = World({("a", "h1"): "good", ("a", "h3"): "good"})
    outcome = run(world, build_step("a", cure=cure), B)
    assert world.plays == [("b", ("h1", "h3"))]
    assert outcome.stopped_hosts == (("h2", "a"),)


def test_a_play_that_fixes_nothing_is_found_by_asking_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World({("a", "h1"): "good", ("a", "h3"): "good", ("b", "h1"): "good", ("b", "h3"): "good"})
    monkeypatch.setattr(world, "play", lambda s, h, _: PlaybookRun(s.id, tuple(h), tuple(h), (), (), 0.0, Command()))
    outcome = run(world, A, B)
    assert outcome.stopped_hosts == (("h2", "a"),)
    assert not outcome.verification.plan.converged


def test_a_step_settles_by_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "sleep", lambda _: clock.__setitem__(0, clock[0] + 1))
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    world = World({})
    monkeypatch.setattr(world, "play", lambda s, h, _: PlaybookRun(s.id, tuple(h), tuple(h), (), (), 0.0, Command()))
    slow = replace(A, settle_estimate=lambda view: 200 if view.location == "h2" else 10)
    assert run(world, slow).stopped_hosts
    assert clock[0] >= 200


def test_cancelled_before_the_first_step_plays_nothing() -> None:
    world = World({})
    assert run(world, A, B, find_stop_reason=lambda: "the lock was lost").stop_reason == "the lock was lost"
    assert world.plays == []


def test_facts_from_before_a_play_are_asked_again() -> None:
    world = World({("a", "h1"): "good", ("b", "h1"): "good", ("c", "h1"): "stale"})
    c = build_step("c", ("a",), cure="operator")

    def play(step_to_play: Step, hosts: Sequence[str], snapshot: Snapshot) -> PlaybookRun:
        world.facts.update({(name, host.name): "good" for name in "abc" for host in HOSTS})
        return PlaybookRun(step_to_play.id, tuple(hosts), tuple(hosts), (), (), 0.0, Command())

    before = plan(world.gather([probe for step in (A, B, c) for probe in step.probes], ()), (A, B, c))
    outcome = Rollout(INVENTORY, (A, B, c), world.gather, play, ignore_event).run(before)
    assert outcome.stopped_hosts == ()
    assert outcome.verification.plan.converged


@pytest.mark.parametrize("b", [build_step("b", ("a",), cure="operator"), build_step("b", ("a",), passing=True)])
def test_what_a_play_restarted_gets_its_time_to_come_back(b: Step) -> None:
    world = World({("a", "h2"): "good", ("a", "h3"): "good", ("b", "h2"): "good", ("b", "h3"): "good"})
    b = replace(b, settle_seconds=5)
    gather_before = world.gather

    def gather(probes: Sequence[Probe[Any]], names: Sequence[str]) -> Snapshot:
        if sum("b" in ids for ids in world.asks) >= 4:
            world.facts["b", "h1"] = "good"
        return gather_before(probes, names)

    before = plan(world.gather([*A.probes, *b.probes], ()), (A, b))
    outcome = Rollout(INVENTORY, (A, b), gather, world.play, ignore_event).run(before)
    assert outcome.stopped_hosts == ()
    assert [name for name, _ in world.plays] == ["a"]


def test_what_passes_by_itself_is_played_when_nothing_was_restarted() -> None:
    world = World({("a", host.name): "good" for host in HOSTS})
    run(world, A, build_step("b", ("a",), passing=True))
    assert [name for name, _ in world.plays] == ["b"]


@pytest.mark.parametrize(("cure", "pauses"), [("operator", 6), ("install", 60)])
def test_what_only_a_person_fixes_is_not_waited_for_to_the_end(
    monkeypatch: pytest.MonkeyPatch, cure: Cure, pauses: int
) -> None:
    """A step that may settle by itself has a while before it is played."""
    clock = [0.0]
    monkeypatch.setattr(time, "sleep", lambda _: clock.__setitem__(0, clock[0] + 1))
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(waiting, "PERSON", 5.0)
    late = replace(build_step("b", cure=cure, passing=cure == "install"), settle_seconds=400)
    run(World({}), A, late)
    assert clock[0] == pauses


def test_what_passes_is_waited_for_once_more_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later play moved what an earlier step had seen settled; what does not pass by itself is reported at once."""
    monkeypatch.setattr(waiting, "LAST", 60.0)
    first, moving = build_step("a"), build_step("b", passing=True)
    world = World({("b", host.name): "good" for host in HOSTS})
    looks = iter(["bad", "bad", "good"])

    def gather(probes: Sequence[Probe[Any]], names: Sequence[str]) -> Snapshot:
        if world.plays and len(probes) == 2 and not names:
            text = next(looks)
            world.facts |= {("b", host.name): text for host in HOSTS}
        return world.gather(probes, names)

    before = plan(world.gather([*first.probes, *moving.probes], ()), (first, moving))
    outcome = Rollout(INVENTORY, (first, moving), gather, world.play, ignore_event).run(before)
    assert outcome.verification.plan.converged
    assert next(looks, None) is None


def test_what_passes_and_does_not_is_played_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for all of a step's time before a play that does no harm."""
    clock = [0.0]
    monkeypatch.setattr(time, "sleep", lambda _: clock.__setitem__(0, clock[0] + 1))
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(waiting, "FIRST", 20.0)
    world = World({})
    played_hosts: list[float] = []

    def play(step: Step, hosts: Sequence[str], snapshot: Snapshot) -> PlaybookRun:
        played_hosts.append(clock[0])
        return world.play(step, hosts, snapshot)

    late = replace(build_step("b", passing=True), settle_seconds=400)
    before = plan(world.gather([*A.probes, *late.probes], ()), (A, late))
    outcome = Rollout(INVENTORY, (A, late), world.gather, play, ignore_event).run(before)
    assert outcome.verification.plan.converged
    assert played_hosts == [0.0, 20.0]
