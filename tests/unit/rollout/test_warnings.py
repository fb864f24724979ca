"""A plan warns of what is no difference, and yet ends something later."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.rollout.warnings import list_warnings
from tests.worlds.snapshots.answers import make_answer, place_answers
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


def list_renamed(name: str) -> list[str]:
    snapshot = build_snapshot(place_answers("k1", make_answer("system.hostname", f"{name}\n")))
    return [sentence for sentence in list_warnings(snapshot) if "the host is named" in sentence]


def test_a_host_that_is_not_named_like_its_node_is_a_warning() -> None:
    """A kubelet that starts under the new name finds no node: after hostnamectl set-hostname on a lab host, plan saw
    no difference until the node was lost."""
    (sentence,) = list_renamed("gpu-old")
    assert sentence.startswith("k1: the host is named gpu-old and its node k1: ")
    assert sentence.endswith("To keep it: hostnamectl set-hostname k1")


@pytest.mark.parametrize("name", ["k1", "K1"])
def test_a_kubelet_lowers_the_name_of_its_host(name: str) -> None:
    assert list_renamed(name) == []
