"""Helm values of ours are compared with the keys of the real charts: derived facts, and values.yaml where it is at
hand."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from gpustack.config.chart_keys import CHARTS, Key, judge_values, read_chart_keys
from gpustack.config.resources import locate_shipped_values as shipped_values
from gpustack.steps.monitoring.values import build_chart_values
from tests.unit.config.specs import build_inventory
from tests.unit.steps.test_pod_egress import write_spec

ROOT = Path(__file__).parents[2]
SIMULATED_CHARTS = ROOT / "lab" / "gpustack_lab" / "simulated" / "charts"
# Unchanged values.yaml of the real projects, as <chart>/values.yaml.
REFERENCE = Path(os.environ.get("GPUSTACK_REFERENCE_DATA") or ROOT.parent / "shared" / "data") / "charts"
FACTS = sorted(CHARTS.glob("*.keys"))
OWN_VALUES = sorted(shipped_values().glob("*.yaml"))
STAND_INS = sorted(path.parent for path in SIMULATED_CHARTS.glob("*/Chart.yaml"))
# Which chart a file of ours is for; its name is the release's.
CHART_OF = {"monitoring": "kube-prometheus-stack", "gpu-operator": "gpu-operator", "keda": "keda"}


def format_id(path: Path) -> str:
    return path.name


def read_header(path: Path, word: str) -> list[list[str]]:
    """Read the words of every line `# word …`."""
    lines = (line for line in path.read_text().splitlines() if line.startswith(f"# {word} "))
    return [line.split()[2:] for line in lines]


def find_chart(release: str) -> str:
    (path,) = (path for path in FACTS if re.fullmatch(rf"{CHART_OF[release]}-v?\d.*", path.stem))
    return path.stem


def test_there_are_facts_and_stand_ins() -> None:
    assert FACTS
    assert STAND_INS


@pytest.mark.parametrize("path", FACTS, ids=format_id)
def test_facts_name_source_commit_and_hash(path: Path) -> None:
    assert read_header(path, "values")
    for _, url, digest in read_header(path, "values"):
        assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/blob/[0-9a-f]{8,40}/.+/values\.yaml", url)
        assert re.fullmatch(r"[0-9a-f]{64}", digest)


@pytest.mark.parametrize("path", FACTS, ids=format_id)
def test_facts_are_those_of_the_real_charts(path: Path) -> None:
    words: list[str] = []
    for prefix, url, digest in read_header(path, "values"):
        file = REFERENCE / Path(url).parent.name / "values.yaml"
        if not file.is_file():
            pytest.skip(f"no {file}: GPUSTACK_REFERENCE_DATA names a folder with charts/<chart>/values.yaml")
        assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
        words += ["--values", prefix, url, str(file)]
    words += [word for names in read_header(path, "also") for word in ("--also", *names)]
    words += [word for (prefix,) in read_header(path, "open") for word in ("--open", prefix)]
    command = [sys.executable, str(ROOT / "scripts" / "chart-keys"), path.stem, *words]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert process.stdout == path.read_text()


@pytest.mark.parametrize("path", OWN_VALUES, ids=format_id)
def test_the_real_chart_knows_every_key_of_ours(path: Path) -> None:
    values = yaml.safe_load(path.read_text()) or {}
    assert [str(wrong) for wrong in judge_values(path.name, find_chart(path.stem), values)] == []


def test_both_charts_take_the_values_of_a_site_behind_a_proxy(tmp_path: Path) -> None:
    values = build_chart_values(build_inventory(**write_spec(tmp_path)))
    assert values["alertmanager"]["alertmanagerSpec"]["containers"]
    assert [str(wrong) for wrong in judge_values("monitoring", find_chart("monitoring"), values)] == []
    schema = json.loads((SIMULATED_CHARTS / CHART_OF["monitoring"] / "values.schema.json").read_text())
    assert [error.message for error in Draft202012Validator(schema).iter_errors(values)] == []


@pytest.mark.parametrize("folder", STAND_INS, ids=format_id)
def test_the_real_chart_knows_every_key_of_the_simulated_one(folder: Path) -> None:
    chart = yaml.safe_load((folder / "Chart.yaml").read_text())
    values = yaml.safe_load((folder / "values.yaml").read_text())
    assert [
        str(wrong) for wrong in judge_values(format_id(folder), f"{chart['name']}-{chart['version']}", values)
    ] == []


@pytest.mark.parametrize("folder", STAND_INS, ids=format_id)
def test_the_schema_of_a_simulated_chart_is_of_keys_that_the_real_one_knows(folder: Path) -> None:
    chart = yaml.safe_load((folder / "Chart.yaml").read_text())
    known_keys = read_chart_keys(f"{chart['name']}-{chart['version']}")
    schema = json.loads((folder / "values.schema.json").read_text())
    assert [".".join(path) for path in list_schema_paths(schema) if not accepts_path(known_keys, path)] == []


@pytest.mark.parametrize("folder", STAND_INS, ids=format_id)
def test_the_schema_of_a_simulated_chart_refuses_other_keys(folder: Path) -> None:
    schema = json.loads((folder / "values.schema.json").read_text())
    assert [path for path, part in walk_schema(schema) if part.get("properties") and part["additionalProperties"]] == []
    values = yaml.safe_load((folder / "values.yaml").read_text())
    assert find_undocumented(schema, values) == []


def walk_schema(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    yield path, schema
    for name, subschema in schema.get("properties", {}).items():
        yield from walk_schema(subschema, (*path, name))


def list_schema_paths(schema: dict[str, Any]) -> list[tuple[str, ...]]:
    # `global` below a subchart is Helm's, which hands it on.
    return [path for path, _ in walk_schema(schema) if path and path[-1:] != ("global",)]


def accepts_path(key: Key, path: tuple[str, ...]) -> bool:
    for name in path:
        if key.kind in ("free", "any"):
            return True
        if name not in key.children:
            return False
        key = key.children[name]
    return True


def find_undocumented(schema: dict[str, Any], values: dict[str, Any], path: str = "") -> list[str]:
    """Find keys of values.yaml that its schema does not describe."""
    properties: dict[str, Any] = schema.get("properties", {})
    unknown_keys: list[str] = []
    for name, value in values.items() if properties else ():
        if name not in properties:
            unknown_keys.append(f"{path}{name}")
        elif isinstance(value, dict):
            unknown_keys += find_undocumented(properties[name], value, f"{path}{name}.")
    return unknown_keys
