"""A plan warns of what is no difference, and yet ends something later."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.rollout.warnings import list_warnings
from tests.worlds.snapshots.gpus import build_snapshot

PERSISTENT: dict[str, Any] = {"monitoring": {"persistence": {"enabled": True}}}


def list_sentences(values: dict[str, Any]) -> tuple[str, ...]:
    """List the warnings about values of the operator's; others have their own tests."""
    snapshot = build_snapshot(spec=PERSISTENT)
    snapshot_of_values = replace(snapshot, inventory=replace(snapshot.inventory, values={"gpu-operator": values}))
    return tuple(sentence for sentence in list_warnings(snapshot_of_values) if sentence.startswith("values/"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"driver": {"upgradePolicy": {"autoUpgrade": True}}},
            "driver.upgradePolicy.autoUpgrade: true, which evicts every",
        ),
        ({"operator": {"upgradeCRD": True}}, "operator.upgradeCRD: true, which replaces CRDs"),
        ({"sandboxWorkloads": {"enabled": True}}, "sandboxWorkloads.enabled: true, which takes the driver from nodes"),
    ],
)
def test_values_that_turn_an_action_on_are_a_warning(values: dict[str, Any], words: str) -> None:
    (sentence,) = list_sentences(values)
    assert sentence.startswith("values/gpu-operator.yaml sets ")
    assert words in sentence


@pytest.mark.parametrize(
    "values",
    [{}, {"driver": {"upgradePolicy": {"autoUpgrade": False}}}, {"migManager": {"enabled": False}}, {"driver": None}],
)
def test_values_that_turn_nothing_on_are_none(values: dict[str, Any]) -> None:
    assert list_sentences(values) == ()
