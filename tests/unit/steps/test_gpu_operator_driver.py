"""A driver in containers is not changed under running pods: install refuses, and says which pods would end."""

from typing import Any

import pytest

from gpustack.ask.judge import Judgement
from gpustack.steps.gpu.operator import STEP
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.gpus import BARE, edit_answer, judge

OPEN = "NVIDIA UNIX Open Kernel Module for x86_64  595.91.07"
UPGRADE = "gpustack explain driver-upgrade"
NEWER: dict[str, Any] = {"gpu": {"driver": {"version": "610.43.02"}}}


def name_driver(items: list[Any]) -> None:
    items[0]["metadata"]["name"] = "nvidia-driver-daemonset"


DAEMON_SET = edit_answer("gpu.daemon-sets", name_driver)


def load_module(host: str, module: str = OPEN) -> Answers:
    """Load a module on a host; the libraries are in the container."""
    edits = (
        (OPEN, module),
        ("library libnvidia-ml.so.595.91.07", "library -"),
        ("persistence active", "persistence none"),
    )
    return place_answers(host, read_case("gpu.driver", "prepared-debian-12", *edits))


CONTAINERS = {**BARE, **DAEMON_SET, **load_module("k1"), **load_module("k2")}


def judge_driver(answers: Answers, **options: Any) -> Judgement:
    return judge(STEP, answers, **options)["driver-containers"]


def test_the_driver_of_the_spec_is_no_difference() -> None:
    assert judge_driver(CONTAINERS).outcome == "ok"


@pytest.mark.parametrize(
    ("spec", "module", "actual"),
    [
        (NEWER, OPEN, "k1: 595.91.07, open (no pod holds a GPU)"),
        ({"gpu": {"driver": {"kernel_module": "proprietary"}}}, OPEN, "k1: 595.91.07, open (no pod holds a GPU)"),
        ({}, OPEN.replace("595.91.07", "580.95.05"), "k1: 580.95.05, open (no pod holds a GPU)"),
        ({}, "NVIDIA UNIX x86_64 Kernel Module  595.91.07", "k1: 595.91.07, proprietary (no pod holds a GPU)"),
    ],
)
def test_another_driver_is_an_upgrade(spec: dict[str, Any], module: str, actual: str) -> None:
    result = judge_driver({**CONTAINERS, **load_module("k1", module)}, spec=spec).result
    assert result
    assert actual in result.actual
    assert (result.cure, str(result.hint)) == ("upgrade", UPGRADE)


def test_it_names_the_pods_that_end() -> None:
    holding = place_answers("k2", read_case("gpu.holding-pods", "training"))
    result = judge_driver({**CONTAINERS, **holding}, spec=NEWER).result
    assert result
    assert "k2: 595.91.07, open (ends default/train-0, team-a/notebook-7d4b)" in result.actual


def test_pods_that_are_unknown_are_said_to_be() -> None:
    unreadable = place_answers("k2", read_case("gpu.holding-pods", "other-shape"))
    result = judge_driver({**CONTAINERS, **unreadable}, spec=NEWER).result
    assert result
    assert "k2: 595.91.07, open (which pods end with it is unknown)" in result.actual


def test_before_the_first_container_nothing_is_upgraded() -> None:
    without_driver = {key: answer for key, answer in CONTAINERS.items() if key[0] != "gpu.daemon-sets"}
    assert judge_driver(without_driver, spec=NEWER).outcome == "ok"


def test_a_driver_that_is_not_loaded_is_no_upgrade() -> None:
    assert judge_driver({**BARE, **DAEMON_SET}, spec=NEWER).outcome == "ok"


def test_the_way_out_of_containers_is_an_upgrade_too() -> None:
    result = judge_driver(CONTAINERS, spec={"gpu": {"driver": {"mode": "none"}}}).result
    assert result
    assert (result.expected, result.cure) == ("none, for no host is to have one", "upgrade")


def test_the_hint_to_keep_what_runs_holds() -> None:
    """The page says: set gpu.driver.version and gpu.driver.kernel_module to what runs."""
    older = {
        **CONTAINERS,
        **(module := load_module("k1", "NVIDIA UNIX x86_64 Kernel Module  580.95.05")),
        ("gpu.driver", "k2"): module["gpu.driver", "k1"],
    }
    older_spec = {"gpu": {"driver": {"version": "580.95.05", "kernel_module": "proprietary"}}}
    assert judge_driver(older).outcome == "failed"
    assert judge_driver(older, spec=older_spec).outcome == "ok"
