"""A DCGM host engine of somebody else's on a host with GPUs: refused with two ways out, or kept without profiling."""

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.steps.gpu.metrics import STEP as METRICS
from gpustack.steps.gpu.operator import STEP
from gpustack.steps.gpu.operator_values import PROFILING, counters, own_and_more
from tests.worlds.cases import recorded, written
from tests.worlds.gpus import devices, judged, world
from tests.worlds.judge import failures, unknown
from tests.worlds.snapshot import Answers

ENGINES = "gpu.host-engines"
KEEP = {"gpu": {"metrics": {"host_engine": "keep"}}}


def engine(name: str, host: str = "k1") -> Answers:
    return {(ENGINES, host): recorded(ENGINES, name)}


def hint(changed: Answers) -> str:
    mismatch = judged(STEP, changed)["host-engine"].result
    assert mismatch
    return mismatch.hint


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("dcgm-4", "k1: nvidia-dcgm.service (127.0.0.1:5555), DCGM 4.6.0"),
        ("dcgm-3-all-addresses", "k1: dcgm.service (*:5555), DCGM 3.3.5"),
        ("socket", "k1: nvidia-dcgm.service (no TCP port)"),
    ],
)
def test_what_runs_is_named_before_the_exporter_is_brought(name: str, found: str) -> None:
    assert failures(judged(STEP, engine(name))) == {"host-engine": (found, "operator")}


def test_both_ways_out() -> None:
    found = hint({**engine("dcgm-4"), **engine("dcgm-3-all-addresses", "k2")})
    assert found.startswith("systemctl disable --now dcgm; systemctl disable --now nvidia-dcgm    # ")
    assert "gpu.metrics.host_engine: keep" in found
    by_hand = {(ENGINES, "k1"): written(ENGINES, "engine session-3.scope 127.0.0.1:5555\n")}
    assert hint(by_hand).startswith("nv-hostengine --term    # ")


def test_packages_without_a_running_engine_are_in_nobody_s_way() -> None:
    installed = "package datacenter-gpu-manager-4-core installed 1:4.6.0-1\n"
    assert failures(judged(STEP, {(ENGINES, "k1"): written(ENGINES, installed)})) == {}


def test_an_engine_of_a_host_without_gpus_is_not_looked_for() -> None:
    assert "host-engine" not in failures(judged(STEP, {**devices("k1"), **engine("dcgm-4")}))


def test_what_cannot_be_told() -> None:
    assert unknown(judged(STEP, engine("odd"))) == {"host-engine"}
    assert failures(judged(STEP, engine("odd"), spec=KEEP)) == {}


def test_one_that_is_kept_has_the_profiling_alone() -> None:
    """Every other field is still ours, and what the spec names by itself is its owner's choice."""
    assert failures(judged(STEP, engine("dcgm-4"), spec=KEEP)) == {}
    assert failures(
        judged(METRICS, {("dcgm.counters", CLUSTER): recorded("dcgm.counters", "none")}, spec=KEEP)
    ).keys() == {"csv"}
    kept, ours = own_and_more(View(world(spec=KEEP), CLUSTER)), counters(())
    lines = ours.splitlines()
    assert PROFILING in ours
    assert kept.splitlines() == [line for line in lines if not line.startswith(PROFILING)]
    assert "DCGM_FI_DEV_GPU_UTIL," in kept
    asked = counters(("DCGM_FI_PROF_PIPE_INT_ACTIVE",), profiling=False)
    assert asked == f"{kept}DCGM_FI_PROF_PIPE_INT_ACTIVE, gauge, asked for by the spec\n"


def test_by_default_it_is_refused() -> None:
    assert Spec().gpu.metrics.host_engine == "refuse"
