"""Hosts are asked what a step of their inventory reads, and nothing changes without the other answers."""

from dataclasses import replace

import pytest

from gpustack.rollout.gpus import count_gpus
from gpustack.rollout.plan import plan
from gpustack.rollout.warnings import list_warnings
from gpustack.steps import PROBES, STEPS
from gpustack.steps.step import select_probes
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.passing_steps import PassingStep, list_passing_steps

PLACES = list_passing_steps()


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.step.id)
def test_plan_warnings_and_gpus_need_no_other_answers(place: PassingStep) -> None:
    snapshot = place.snapshot
    asked_ids = {probe.id for probe in select_probes(STEPS, snapshot.inventory)}
    answers = {key: answer for key, answer in snapshot.answers.items() if key[0] in asked_ids}
    asked_snapshot = replace(snapshot, answers=answers)
    assert plan(asked_snapshot, STEPS).states == plan(snapshot, STEPS).states
    assert list_warnings(asked_snapshot) == list_warnings(snapshot)
    assert count_gpus(asked_snapshot) == count_gpus(snapshot)


def test_a_cluster_is_not_asked_of_programs_of_hosts_without_kubernetes() -> None:
    asked_ids = {probe.id for probe in select_probes(STEPS, gpus.build_snapshot().inventory)}
    assert {id for id in asked_ids if id.startswith(("standalone.", "autoscaling."))} == set()
    assert asked_ids < {probe.id for probe in PROBES}


def test_only_what_was_chosen_is_selected() -> None:
    inventory = gpus.build_snapshot().inventory
    (prereqs,) = (step for step in STEPS if step.id == "prereqs")
    assert select_probes([prereqs], inventory) == prereqs.probes
