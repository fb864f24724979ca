"""A check of a step is broken on a converged cluster (tests/lab/breaks): `plan` names exactly that, and `install` plays
exactly the playbook that fixes it, or refuses and changes nothing. host1 is the control plane; host2 is a worker behind
a firewall that denies by default. Breaks that do not meet are made at once. After a failure the lab goes back to how it
was when it had converged."""

from collections.abc import Callable

import pytest

from gpustack_lab import lab
from tests.lab.breaking import RELEASES, World, check_repair, find_open, make_world, wait_until_converged
from tests.lab.breaks import Break, build_batches, load
from tests.lab.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]
BATCHES = build_batches([entry for entry in load() if not entry.reason])


def name(batch: list[Break]) -> str:
    return " + ".join(map(str, batch))


@pytest.fixture(scope="module")
def world(make_lab: Callable[..., lab.Lab], gpustack: Run, tmp_path_factory: pytest.TempPathFactory) -> World:
    drift_lab = make_lab("drift", RELEASES, monitored=True, gpus="2")
    return make_world(drift_lab, gpustack, tmp_path_factory.mktemp("drift"))


@pytest.fixture
def right(world: World) -> World:
    """The converged lab, also after a test that failed half-way."""
    if find_open(world):
        world.lab.restore("converged")
        wait_until_converged(world)
    return world


@pytest.mark.parametrize("batch", BATCHES, ids=name)
def test_a_break_is_named_and_fixed_by_its_step_alone(right: World, batch: list[Break]) -> None:
    check_repair(right, batch)
