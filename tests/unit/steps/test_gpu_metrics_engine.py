"""A host engine that is there already, as `ss -Hltunp` shows it beside the service nvidia-dcgm of DGX OS."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.steps.gpu_metrics import STEP
from tests.unit.judging import state
from tests.unit.steps.recorded_cluster import recorded, said
from tests.unit.steps.recorded_gpus import devices, world

LISTENERS = "network.listeners"
ENV = {"env": [{"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "$(NODE_IP):5555"}]}
HOST = {"gpu": {"stack": "host"}}


def found(process: str, port: int, spec: dict[str, Any] | None = None, **values: Any) -> str:
    """What the check says of a program that listens on k1; empty for nothing."""
    line = f'tcp LISTEN 0 128 127.0.0.1:{port} 0.0.0.0:* users:(("{process}",pid=2211,fd=10))\n'
    before = recorded(LISTENERS, "monitored-debian-12").out
    seen = world({(LISTENERS, "k1"): said(LISTENERS, before + line)}, spec)
    seen = replace(seen, inventory=replace(seen.inventory, values={"gpu-operator": values}))
    (one,) = [one for one in state(STEP, View(seen, CLUSTER)).judgements if one.check == "host-engine"]
    assert one.outcome != "unknown", one.why
    assert not one.mismatch or (one.mismatch.cure, "nvidia-dcgm" in one.mismatch.hint) == ("operator", True)
    return one.mismatch.found if one.mismatch else ""


@pytest.mark.parametrize("port", [5555, 5556])
@pytest.mark.parametrize("spec", [{}, HOST])
def test_a_host_engine_of_the_host_s_own_is_found(port: int, spec: dict[str, Any]) -> None:
    assert found("nv-hostengine", port, spec) == f"k1: nv-hostengine on port {port}"


def test_one_that_the_exporter_uses_is_no_second_one() -> None:
    assert found("nv-hostengine", 5555, dcgmExporter=ENV) == ""
    assert found("nv-hostengine", 5555, dcgmExporter={"env": []})
    assert found("nv-hostengine", 5555, HOST, dcgmExporter=ENV), "which has no such values"


def test_another_program_on_its_port_is_none() -> None:
    assert found("adb", 5555) == ""


def test_without_gpus_nobody_asks() -> None:
    seen = world({**devices("k1"), **devices("k2"), (LISTENERS, "k1"): said(LISTENERS, "", 1)})
    assert state(STEP, View(seen, CLUSTER)).outcome == "holds"
