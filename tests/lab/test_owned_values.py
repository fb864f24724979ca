"""A value of each task that can change something is flipped on a converged cluster: `install --force` then plays all,
and exactly the tasks that own the flipped values report a change (tests/lab/breaks). The changes are read from the
run's evidence."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab.breaking import RELEASES, World, make_world, wait_until_converged
from tests.lab.breaks.owned import OwnedValue, load
from tests.lab.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]

RECORDING = "Ensure what the step may change is recorded"


def list_rounds() -> Iterator[list[OwnedValue]]:
    """List rounds of one value per step and host at a time; another inventory has a round of its own."""
    remaining_values = [value for value in load() if not value.reason and not value.hosts]
    while remaining_values:
        first_values = {(value.step, value.host): value for value in reversed(remaining_values)}
        yield [value for value in remaining_values if value in first_values.values()]
        remaining_values = [value for value in remaining_values if value not in first_values.values()]
    yield from ([value] for value in load() if value.hosts)


@pytest.fixture(scope="module")
def world(make_lab: Callable[..., lab.Lab], gpustack: Run, tmp_path_factory: pytest.TempPathFactory) -> World:
    owned_lab = make_lab("owned", RELEASES, monitored=True, gpus="2")
    return make_world(owned_lab, gpustack, tmp_path_factory.mktemp("owned"))


def list_changes(value: Any) -> list[tuple[str, str, str]]:
    """List (step, host, task) of all changes that a run reported, in order."""
    step, places = "", []
    for line in (Path(value["evidence_directory"]) / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["kind"] == "step":
            step = event["subject"]
        elif event["kind"] == "changed":
            places.append((step, event["subject"], event["message"]))
    return places


def name_owners(changes: list[tuple[str, str, str]], expected: set[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Name the task of each change. Tasks that log nothing are reported together, so the expected one stands for them.
    A step copies a changed file into its record before it writes the file: that change belongs to no value, and it is
    left out where a task of the same step and host is expected to change."""
    steps = {(step, host) for step, host, _ in expected}
    return [
        (
            step,
            host,
            next(
                (task for task in message.removeprefix("one of: ").split(", ") if (step, host, task) in expected),
                message,
            ),
        )
        for step, host, message in changes
        if message != RECORDING or (step, host) not in steps
    ]


@pytest.mark.parametrize("values", list(list_rounds()), ids=lambda values: f"{len(values)} from {values[0].task}")
def test_exactly_the_tasks_that_own_a_value_change_it(world: World, values: list[OwnedValue]) -> None:
    world.run_everywhere([(value.host, value.flip) for value in values])
    inventory = world.build_inventory({}, {}, values[0].hosts) if values[0].hosts else world.inventory
    # In an inventory of one host the other node is a stranger to the firewall: there only the step itself is played.
    words = ("--only", values[0].step) if values[0].hosts else ()
    process = world.gpustack("install", "-i", inventory, "--force", *words, "--yes", "-o", "json", limit=900)
    document = json.loads(process.stdout)
    expected = {changed_task for value in values for changed_task in value.changed_tasks}
    assert sorted(name_owners(list_changes(document), expected)) == sorted(expected)
    assert document["converged"]
    assert sum(play["changed_task_count"] for play in document["playbook_runs"]) == len(list_changes(document))
    wait_until_converged(world)
