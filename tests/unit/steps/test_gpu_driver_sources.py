"""A plan warns where driver containers have no way to the headers of the kernel."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.gpu.driver_sources import describe_missing_sources
from tests.unit.steps.test_pod_egress import write_sources
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.gpus import BARE, build_snapshot, place_list

MIRROR = {"source": {"mirror": "http://10.0.0.5:8480", "fingerprint": "A" * 40}}
OFFICIAL = {"source": "official"}


def describe(spec: Mapping[str, Any], values: Mapping[str, Any] | None = None, answers: Answers | None = None) -> str:
    snapshot = build_snapshot({**BARE, **(answers or {})}, spec=spec)
    inventory = replace(snapshot.inventory, values={"gpu-operator": {"driver": dict(values)}} if values else {})
    return describe_missing_sources(View(replace(snapshot, inventory=inventory), CLUSTER))


def build_drivers(ready: int) -> Answers:
    """Answer with the DaemonSet of the drivers, of which so many of two pods are ready."""
    status = {"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": ready}
    workload = {"metadata": {"name": "nvidia-driver-daemonset", "generation": 1}, "status": status}
    return place_list("gpu.daemon-sets", [workload])


def test_a_mirror_alone_is_a_warning_of_the_plan() -> None:
    sentence = describe(MIRROR)
    assert "gpu.driver.repo_config" in sentence
    assert list_warnings(build_snapshot(BARE, spec=MIRROR)).count(sentence) == 1


def test_a_way_out_is_none(tmp_path: Path) -> None:
    assert describe(OFFICIAL) == ""
    assert describe({**MIRROR, "proxy": {"http": "http://p:3128"}}) == ""
    assert describe({**MIRROR, **write_sources(tmp_path)}) == ""


@pytest.mark.parametrize(
    "values",
    [
        {"repoConfig": {"configMapName": "mine"}},
        {"usePrecompiled": True},
        {"env": [{"name": "HTTPS_PROXY", "value": "http://p:1"}]},
        {"enabled": False},
    ],
)
def test_values_of_the_operator_may_name_a_way(values: dict[str, Any]) -> None:
    assert describe(MIRROR, values) == ""
    assert describe(MIRROR, {"env": [{"name": "A", "value": "b"}]}) != ""


def test_drivers_on_hosts_need_none() -> None:
    """The recorded hosts are Debian's, with packages of NVIDIA."""
    assert describe_missing_sources(View(build_snapshot(spec=MIRROR), CLUSTER)) == ""
    assert describe({**MIRROR, "gpu": {"driver": {"mode": "host"}}}) == ""


@pytest.mark.parametrize(("ready", "warned"), [(2, False), (1, True), (0, True)])
def test_drivers_that_run_have_found_a_way(ready: int, warned: bool) -> None:
    assert bool(describe(MIRROR, answers=build_drivers(ready))) is warned
