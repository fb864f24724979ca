"""Rules of another release, and rules of others with the same names, beside gpustack's in a real Prometheus."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Api
from gpustack.ask.prune import prune
from gpustack.probes.monitoring.alerting import RULE_GROUPS
from gpustack.steps.alerts import STEP, load_groups
from tests.contract.prometheus_server import build_data_command, run_prometheus
from tests.worlds.snapshots.answers import make_answer
from tests.worlds.snapshots.cluster import judge

pytestmark = pytest.mark.long
UID = "667a5c63-b341-407b-8d80-e69ff7e74fe6"
FOREIGN_RULES = [
    {"record": "gpustack:node_gpus:count", "expr": "count by (node) (DCGM_FI_DEV_GPU_TEMP)"},
    {"alert": "GpuLost", "expr": "absent(DCGM_FI_DEV_GPU_TEMP)"},
    {"alert": "NodeHot", "expr": "DCGM_FI_DEV_GPU_TEMP > 90"},
]
EARLIER_RULES = [{"record": "gpustack:gpu_seen:max1d", "expr": "max_over_time(gpustack:gpu:info[1d])"}]
"""An earlier release recorded this series; today's has none of the name."""


def build_group(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "rules": rules}


def judge_loaded_rules(folder: Path, other_objects: Mapping[str, dict[str, Any]]) -> Mapping[str, Judgement]:
    """Judge the answer of a Prometheus with gpustack's objects and others, each with one group, in files that are named
    as the operator names them."""
    objects = {f"monitoring-gpustack-{file}": groups for file, groups in load_groups("").items()}
    objects |= {name: [group] for name, group in other_objects.items()}
    files = [folder / f"{name}-{UID}.yaml" for name in objects]
    for file, groups in zip(files, objects.values(), strict=True):
        file.write_text(yaml.safe_dump({"groups": groups}))
    command = build_data_command(folder, {"rule_files": [str(file) for file in files]}, {})
    assert isinstance(RULE_GROUPS.question, Api)
    path = RULE_GROUPS.question.path.partition("/proxy")[2]
    with run_prometheus(folder, command) as prometheus, urlopen(f"{prometheus.url}{path}") as response:
        answer = prune(response.read().decode(), RULE_GROUPS.question.fields)
    return judge(STEP, {(RULE_GROUPS.id, CLUSTER): make_answer(RULE_GROUPS.id, answer)})


def test_rules_beside_rules_of_others_are_fine(tmp_path: Path) -> None:
    team_objects = {"monitoring-nodes": build_group("nodes", FOREIGN_RULES[2:])}
    judgements = judge_loaded_rules(tmp_path, team_objects)
    assert {judgement.outcome for judgement in judgements.values()} == {"ok"}


def test_a_series_or_alert_of_gpustack_in_another_object_is_found(tmp_path: Path) -> None:
    team_objects = {
        "default-gpustack-gpu-recording": build_group("gpustack-day", EARLIER_RULES),
        "team-a-gpus": build_group("gpus", FOREIGN_RULES),
    }
    judgements = judge_loaded_rules(tmp_path, team_objects)
    assert judgements["rules-loaded"].outcome == "ok"
    result = judgements["rules-once"].result
    assert result
    assert (result.fault, result.cure) == ("mon-rules-twice", "operator")
    assert result.actual == (
        f"1 in default-gpustack-gpu-recording-{UID}.yaml, such as gpustack:gpu_seen:max1d; "
        f"2 in team-a-gpus-{UID}.yaml, such as GpuLost"
    )
