"""`gpustack remediate` against nodes of tests/worlds/programs/node_api.py, with verdicts on constructed readings."""

import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.cli.app import app
from gpustack.cli.gpu import health
from gpustack.errors import GpustackError
from gpustack.health import sources
from tests.unit.cli.unwell_gpus import UnwellGpus
from tests.worlds.programs.node_api import NodeApi

GPU = "GPU-gpu1-0"


def replace_sources(monkeypatch: pytest.MonkeyPatch) -> UnwellGpus:
    """Let `gpustack remediate` and `gpustack care` read unwell GPUs in place of a Prometheus."""
    unwell_gpus = UnwellGpus()
    monkeypatch.setattr(health, "open_source", lambda *_, **__: nullcontext())
    monkeypatch.setattr(sources, "read_sources", unwell_gpus.read_sources)
    return unwell_gpus


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["remediate", *words, "-q"])


def expect_error(*words: str) -> GpustackError:
    error = run(*words).exception
    assert isinstance(error, GpustackError), error
    return error


def check(target: str = "gpu1:0") -> dict[str, Any]:
    result = run(target, "--check", "-o", "json")
    assert result.stdout, result.exception
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def list_states(target: str = "gpu1:0") -> dict[str, str]:
    return {rung["rung"]: rung["rung_state"] for rung in check(target)["rungs"]}


def list_refusals(target: str = "gpu1:0") -> list[str]:
    return [refusal["guard"] for refusal in check(target)["refusals"]]


def record_act(node_api: NodeApi, rung: str, age: timedelta, end: str = "done", node: str = "gpu1") -> None:
    """Add an act to the record on a node."""
    objects = node_api.read()
    (entry,) = (entry for entry in objects["nodes"] if entry["metadata"]["name"] == node)
    annotations = entry["metadata"].setdefault("annotations", {})
    acts = json.loads(annotations.get("gpustack.io/remediation", '{"acts": []}'))["acts"]
    moment = (datetime.now(UTC) - age).isoformat(timespec="seconds")
    acts.append({"rung": rung, "begun_at": moment, "author": "ann", "verdict": "reset", "gpus": [GPU], "end": end})
    annotations["gpustack.io/remediation"] = json.dumps({"acts": acts})
    node_api.write(objects)


def drain_node(node_api: NodeApi, age: timedelta = timedelta(hours=2)) -> None:
    """Leave the node as `remediate` does after a drain."""
    node_api.keep_pods("exporter")
    moment = (datetime.now(UTC) - age).isoformat(timespec="seconds")
    node_api.set_cordon("gpustack-nodes", json.dumps({"who": "ann", "at": moment}))
