"""A step is waited for while images arrive, and given up where nothing moves."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise, repeat
from typing import Any

import pytest

from gpustack.ask.probe import Answer, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.events import Event
from gpustack.probes.containerd.pull_progress import PULL_PROGRESS
from gpustack.rollout import rollout, waiting
from gpustack.rollout.plan import PlaybookRun, plan
from gpustack.rollout.rollout import Rollout
from gpustack.steps.step import Step
from tests.unit.rollout.rollout_run import HOSTS, World, build_step
from tests.worlds.programs.clock import Clock

STEP = replace(build_step("a"), settle_seconds=30, pulls=True)
ROUND = 10.0


class Pulling(World):
    """h1 has its step right after `rounds` looks; until then its images are as `layers` says, `BYTES SNAPSHOTS`."""

    def __init__(self, layers: Iterator[str], rounds: int) -> None:
        super().__init__({("a", host.name): "good" for host in HOSTS[1:]})
        self.layers, self.rounds = layers, rounds

    def play(self, step: Any, hosts: Sequence[str], snapshot: Snapshot) -> PlaybookRun:
        run = super().play(step, hosts, snapshot)
        self.facts["a", "h1"] = "still pulling"
        return run

    def gather(self, probes: Sequence[Probe[Any]], names: Sequence[str]) -> Snapshot:
        if self.plays:
            self.rounds -= 1
            if self.rounds == 0:
                self.facts["a", "h1"] = "good"
        snapshot = super().gather(probes, names)
        if PULL_PROGRESS not in probes:
            return snapshot
        lines = next(self.layers).replace(" ", "\n") + "\n"
        return replace(
            snapshot, answers={**snapshot.answers, (PULL_PROGRESS.id, "h1"): Answer(PULL_PROGRESS.id, "h1", 0, lines)}
        )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(waiting, "PAUSE", ROUND)
    for module in (waiting, rollout):
        monkeypatch.setattr(module, "time", clock)
    return clock


def run(world: World, factor: int = 1, step: Step = STEP) -> tuple[bool, list[str]]:
    events: list[Event] = []
    inventory = Inventory(None, HOSTS, Spec(timeout_factor=factor))
    before = plan(replace(world.gather(step.probes, ()), inventory=inventory), [step])
    outcome = Rollout(inventory, [step], world.gather, world.play, events.append).run(before)
    messages = [event.message for event in events if event.kind == "failed"]
    return outcome.verification.plan.converged, messages


@pytest.mark.parametrize(
    "layers",
    [(f"{n} 7" for n in count(1000, 100)), (f"1000 {n}" for n in count(7))],
    ids=["bytes arrive", "layers are unpacked"],
)
def test_a_slow_pull_is_waited_for(clock: Clock, layers: Iterator[str]) -> None:
    assert run(Pulling(layers, rounds=20)) == (True, [])
    assert clock.seconds > 5 * STEP.settle_seconds


@pytest.mark.parametrize(
    "layers",
    [repeat("1000 7"), (f"1000 {7 + n % 2}" for n in count())],
    ids=["nothing arrives", "a container is begun again and again"],
)
def test_a_pull_that_is_stuck_is_named_with_its_limit(clock: Clock, layers: Iterator[str]) -> None:
    has_converged, failures = run(Pulling(layers, rounds=200))
    assert not has_converged
    assert "still pulling" in failures[0]
    assert f"with no progress of an image in the last {STEP.settle_seconds} s" in failures[0]
    assert clock.seconds < 3 * STEP.settle_seconds + waiting.LAST


def test_a_step_without_images_has_its_time_and_no_more(clock: Clock) -> None:
    """Somebody else's images arrive meanwhile."""
    world = Pulling((f"{n} 7" for n in count(1000)), rounds=2000)
    has_converged, failures = run(world, step=replace(STEP, pulls=False))
    assert not has_converged
    assert failures[0].endswith("still pulling (after 30 s)")
    assert clock.seconds < 3 * STEP.settle_seconds + waiting.LAST


def test_what_never_ends_is_given_up(clock: Clock) -> None:
    has_converged, failures = run(Pulling((f"{n} 7" for n in count(1000)), rounds=2000))
    assert not has_converged
    assert failures[0].endswith("(given up after 3600 s, while images were still arriving)")
    assert waiting.PULLING < clock.seconds < 2 * waiting.PULLING


def test_the_factor_of_the_spec_stretches_it(clock: Clock) -> None:
    has_converged, failures = run(Pulling(repeat("1000 7"), rounds=200), factor=10)
    assert not has_converged
    assert f"in the last {10 * STEP.settle_seconds} s" in failures[0]
    assert 10 * STEP.settle_seconds < clock.seconds < 30 * STEP.settle_seconds


def test_between_two_times_of_asking_a_slow_host_has_as_long_for_its_work(clock: Clock) -> None:
    """88 questions took an emulated host 110 s: asked again a second later, it would never have become ready."""

    questions: list[tuple[float, float]] = []

    class Slow(Pulling):
        def gather(self, probes: Sequence[Probe[Any]], names: Sequence[str]) -> Snapshot:
            start = clock.seconds
            clock.seconds += 20.0
            questions.append((start, clock.seconds))
            return super().gather(probes, names)

    run(Slow(repeat("1000 7"), rounds=6), step=replace(STEP, settle_seconds=300))
    waits = [after - end for (_, end), (after, _) in pairwise(questions)]
    assert sum(wait >= 20.0 for wait in waits) >= 4
