"""DCGM's host engine: the exporter's own, one of the operator's, or that of each host, and which pairs fit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.steps.firewall.flows import list_flows
from gpustack.steps.gpu.operator import STEP
from gpustack.steps.gpu.operator_values import build_release
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.gpus import build_devices, build_snapshot, edit_answer, judge
from tests.worlds.snapshots.judge import find_unknown, judge_checks, list_failures

ENGINES = "gpu.host-engines"
HOST = {"gpu": {"dcgm": "host"}}
STANDALONE = {"gpu": {"dcgm": "standalone"}}


def load_engine(name: str, host: str = "k1") -> Answers:
    return place_answers(host, read_case(ENGINES, name))


def find_hint(changes: Answers) -> str:
    mismatch = judge(STEP, changes)["host-engine"].result
    assert mismatch
    return mismatch.hint


def set_values(base: Snapshot, values: Mapping[str, Any]) -> Snapshot:
    """Set values of the operator's for the release gpu-operator."""
    return replace(base, inventory=replace(base.inventory, values={"gpu-operator": values}))


@pytest.mark.parametrize(
    ("name", "actual"),
    [
        ("dcgm-4", "k1: nvidia-dcgm.service (127.0.0.1:5555), DCGM 4.6.0"),
        ("dcgm-3-all-addresses", "k1: dcgm.service (*:5555), DCGM 3.3.5"),
        ("socket", "k1: nvidia-dcgm.service (no TCP port)"),
    ],
)
def test_what_runs_is_named_before_the_exporter_is_brought(name: str, actual: str) -> None:
    assert list_failures(judge(STEP, load_engine(name))) == {"host-engine": (actual, "operator")}
    assert list_failures(judge(STEP, load_engine(name), spec=STANDALONE))["host-engine"] == (actual, "operator")


def test_the_hint_names_both_ways_out() -> None:
    hint = find_hint({**load_engine("dcgm-4"), **load_engine("dcgm-3-all-addresses", "k2")})
    assert hint.startswith("systemctl disable --now dcgm; systemctl disable --now nvidia-dcgm    # ")
    assert hint.endswith("gpu.dcgm: host")
    by_hand = place_answers("k1", make_answer(ENGINES, "engine session-3.scope 127.0.0.1:5555\n"))
    assert find_hint(by_hand).startswith("nv-hostengine --term    # ")


def test_packages_without_a_running_engine_are_in_nobody_s_way() -> None:
    installed_package = "package datacenter-gpu-manager-4-core installed 1:4.6.0-1\n"
    assert list_failures(judge(STEP, place_answers("k1", make_answer(ENGINES, installed_package)))) == {}


def test_an_engine_of_a_host_without_gpus_is_not_looked_for() -> None:
    assert "host-engine" not in list_failures(judge(STEP, {**build_devices("k1"), **load_engine("dcgm-4")}))


def test_unreadable_engines_are_unknown() -> None:
    assert find_unknown(judge(STEP, load_engine("odd"))) == {"host-engine"}
    assert find_unknown(judge(STEP, load_engine("odd"), spec=HOST)) >= {"host-engine", "engine-pair"}


def test_those_of_the_hosts_are_used() -> None:
    """The engine runs on every host with GPUs, at the address that the exporter is told."""
    both_hosts = {**load_engine("dcgm-4"), **load_engine("dcgm-4", "k2")}
    assert list_failures(judge(STEP, both_hosts, spec=HOST)) == {}
    values = build_release(View(build_snapshot(both_hosts, spec=HOST), CLUSTER)).values["dcgmExporter"]
    assert values["hostNetwork"] is True
    assert {"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "localhost:5555"} in values["env"]
    assert list_failures(judge(STEP, load_engine("dcgm-4"), spec=HOST)) == {"host-engine": ("k2: none", "operator")}
    other_engine = {"gpu": {"dcgm": "host", "metrics": {"engine": "localhost:5556"}}}
    actual, _ = list_failures(judge(STEP, both_hosts, spec=other_engine))["host-engine"]
    assert actual == "; ".join(f"{host}: nvidia-dcgm.service (127.0.0.1:5555), DCGM 4.6.0" for host in ("k1", "k2"))
    assert judge(STEP, {**both_hosts, **load_engine("socket")}, spec=HOST)["host-engine"].outcome == "failed"


def test_an_engine_of_a_host_has_to_fit_the_exporter() -> None:
    old = {**load_engine("dcgm-3-all-addresses"), **load_engine("dcgm-4", "k2")}
    assert list_failures(judge(STEP, old, spec=HOST)) == {"engine-pair": ("k1: 3.3.5", "operator")}
    unpacked_engine = make_answer(ENGINES, "engine session-3.scope 127.0.0.1:5555\n")
    unclear = {**load_engine("dcgm-4"), **place_answers("k2", unpacked_engine)}
    assert find_unknown(judge(STEP, unclear, spec=HOST)) == {"engine-pair"}


def test_the_operator_s_is_an_operand() -> None:
    assert build_release(View(build_snapshot(spec=STANDALONE), CLUSTER)).values["dcgm"] == {"enabled": True}
    assert "dcgm" not in build_release(View(build_snapshot(), CLUSTER)).values
    assert list_failures(judge(STEP, spec=STANDALONE)) == {"operands": ("no nvidia-dcgm", "install")}
    answers = edit_answer("gpu.daemon-sets", lambda items: items.append(copy_exporter(items, "nvidia-dcgm")))
    assert list_failures(judge(STEP, answers, spec=STANDALONE)) == {}


def copy_exporter(items: list[Any], name: str) -> Any:
    exporter = next(entry for entry in items if entry["metadata"]["name"] == "nvidia-dcgm-exporter")
    return {**exporter, "metadata": {**exporter["metadata"], "name": name}}


@pytest.mark.parametrize(
    ("exporter", "dcgm", "fits"),
    [
        (None, None, True),
        ("4.5.3-4.8.2-distroless", "4.5.3-1-ubuntu24.04", True),
        ("4.5.3-4.8.2-distroless", None, False),
        (None, "4.7.1-1-ubuntu24.04", False),
        ("4.7.0-4.9.0-distroless", "4.7.1-1-ubuntu24.04", True),
        ("4.7.0-4.9.0-distroless", "4.6.0-1-ubuntu24.04", False),
    ],
)
def test_engines_and_exporters_pair_by_version(exporter: str | None, dcgm: str | None, *, fits: bool) -> None:
    versions_of_operands = {"dcgmExporter": {"version": exporter}, "dcgm": {"version": dcgm}}
    values = {
        operand: operand_values for operand, operand_values in versions_of_operands.items() if operand_values["version"]
    }
    judgement = judge_checks(STEP, set_values(build_snapshot(spec=STANDALONE), values), CLUSTER)["engine-pair"]
    assert (judgement.outcome == "ok") is fits


def test_a_tag_of_somebody_else_s_is_unknown() -> None:
    values = {"dcgm": {"enabled": True}, "dcgmExporter": {"version": "ours-1"}}
    assert "engine-pair" in find_unknown(judge_checks(STEP, set_values(build_snapshot(), values), CLUSTER))
    assert "engine-pair" not in find_unknown(
        judge_checks(STEP, set_values(build_snapshot(), {"dcgmExporter": values["dcgmExporter"]}), CLUSTER)
    )


def test_a_port_is_open_only_where_the_exporter_has_the_host_s_network() -> None:
    def is_open(spec: dict[str, Any]) -> bool:
        return any("9400" in flow.ports for flow in list_flows(Spec.model_validate(spec)) if flow.destination == "host")

    assert [is_open(spec) for spec in ({}, STANDALONE, HOST)] == [False, False, True]
