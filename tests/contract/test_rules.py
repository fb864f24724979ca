"""The rules of values/rules: Prometheus' own checker and tests, and what it does not look at."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.promql import (
    ROOT,
    RULES,
    find_gauge_rates,
    find_lost_labels,
    find_unknown,
    read_exported,
    read_rows,
    read_rules,
)
from tests.contract.promtool import run_promtool

RECORDING, ALERTS = read_rules("gpu-recording.yaml"), read_rules("gpu-alerts.yaml")
TESTS = sorted((RULES / "tests").glob("*.yaml"))
SEVERITIES = {"critical", "warning", "info"}
# What they tell is of no single node.
OF_THE_CLUSTER = {
    "GpuMonitoringBlind",
    "GpuExporterAllAbsent",
    "GpuDriverSkew",
    "GpuOperandNotReady",
    "GpuOperatorNotReconciled",
    "GpuPodsPending",
    "GpuAllocationHigh",
    "GpuFragmented",
    "GpuFullSoon",
    "ClusterCertificateExpiring",
}
# Not in the file: written out of the spec (tests/contract/test_budget.py).
OF_THE_SPEC = {"GpuBudgetExceeded"}
# What a figure is of, by how its name begins: else of a GPU.
OWNERS = {
    "gpustack:node_": ("node",),
    "gpustack:job_": ("workload_namespace", "job_name"),
    "gpustack:model_": ("modelName",),
    "gpustack:gpu_scrape_targets": ("UUID",),
    "gpustack:xid_": ("xid",),
}
PAGE = ROOT / "docs" / "alerts.md"


def test_prometheus_accepts_the_rules() -> None:
    files = sorted(RULES.glob("*.yaml"))
    assert run_promtool("check", "rules", "--lint=all", "--lint-fatal", *files) == ""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_each_alert_fires_and_is_silent(file: Path) -> None:
    assert run_promtool("test", "rules", file) == ""


def test_a_quiet_cluster_has_every_counter() -> None:
    """The last Xid is the exception: a quiet cluster has none."""
    quiet = yaml.safe_load((RULES / "tests" / "quiet.yaml").read_text())["tests"]
    quiet_series = {series["series"].partition("{")[0] for case in quiet for series in case["input_series"]}
    assert read_exported().keys() - quiet_series == {"DCGM_FI_DEV_XID_ERRORS"}


def test_every_alert_fires_in_a_test() -> None:
    fires = set()
    for case in [case for file in TESTS for case in yaml.safe_load(file.read_text())["tests"]]:
        samples = [sample["labels"] for probe in case["promql_expr_test"] for sample in probe.get("exp_samples", [])]
        fires |= {name for labels in samples for name in re.findall(r'alertname="(\w+)"', labels)}
    assert {rule["alert"] for rule in ALERTS} - fires == set()


def test_generated_files_are_as_their_tables() -> None:
    command = [sys.executable, "-m", "scripts.values", "--check"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, f"{process.stderr}run `make values`"


def test_recording_rules_read_what_is_exported() -> None:
    assert [name for rule in RECORDING for name in find_unknown(rule["expr"])] == []


def test_alerts_read_recorded_names_only() -> None:
    assert [name for rule in ALERTS for name in find_unknown(rule["expr"], only_recorded=True)] == []


def test_no_rule_takes_a_rate_of_a_gauge() -> None:
    assert [rates_of_gauge for rule in RECORDING + ALERTS for rates_of_gauge in find_gauge_rates(rule["expr"])] == []


def test_bounds_of_buckets_are_read_as_each_prometheus_stores_them() -> None:
    """Prometheus 3 stores `le` as a float, so an integer in quotes matches nothing there."""
    dashboards = [path.read_text().replace("\\", "") for path in (ROOT / "values" / "dashboards").glob("*.json")]
    texts = [rule["expr"] for rule in RECORDING + ALERTS] + dashboards
    assert [text for text in texts if re.search(r'\ble=~?"\d+"', text)] == []


def test_a_gpu_stays_a_gpu() -> None:
    """An aggregation keeps node and UUID; of another's figure, what that is told apart by."""
    for rule in RECORDING + ALERTS:
        name = rule.get("record", "gpustack:node_" if rule.get("alert") == "GpuFewerThanCapacity" else "")
        labels = next((labels for start, labels in OWNERS.items() if name.startswith(start)), ("node", "UUID"))
        assert find_lost_labels(rule["expr"], *labels) == []


def test_recorded_names_say_level_metric_and_unit() -> None:
    names = {rule["record"] for rule in RECORDING}
    assert [name for name in names if not re.fullmatch(r"gpustack:[a-z][a-z0-9_]*:[a-z][a-z0-9_]*", name)] == []


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: f"{rule['alert']}-{rule['labels'].get('xid_class', '')}")
def test_an_alert_is_complete(rule: dict[str, Any]) -> None:
    name, value = rule["alert"], rule["annotations"]
    assert {"for", "keep_firing_for"} <= rule.keys()
    assert rule["labels"]["severity"] in SEVERITIES
    assert value["summary"]
    assert value["description"].endswith(".")
    assert value["runbook_url"] == f"docs/alerts.md#{name.lower()}"
    if name not in OF_THE_CLUSTER:
        assert "$labels.node" in value["description"]
    if "by (node, UUID" in rule["expr"] or "xid" in rule["expr"]:
        assert set(re.findall(r"labels\.(\w+)", value["description"])) >= {"UUID", "modelName", "node"}


def test_every_alert_has_its_section() -> None:
    sections = re.findall(r"(?m)^### (\w+)$", PAGE.read_text())
    assert sorted(sections) == sorted({*OF_THE_SPEC, *(rule["alert"] for rule in ALERTS)})


def test_every_condition_is_an_alert_or_has_its_reason() -> None:
    """The table of docs/alerts.md, numbered without gaps, has with what stands below it every alert."""
    text = PAGE.read_text().partition("## Which condition is which alert")[2]
    table = re.findall(r"(?m)^\| ([CWI]\d+) \| (.+?) \| (.+?) \| (.+?) \|$", text)
    counts = Counter(id[0] for id, *_ in table)
    assert {id for id, *_ in table} == {f"{letter}{n}" for letter in counts for n in range(1, counts[letter] + 1)}
    assert counts.total() >= 54
    assert {code for code, _, names, _ in table if names == "none"} == {"W13", "I5"}
    listed_names = {name for *_, names, _ in table if names != "none" for name in names.split(", ")}
    other_names = set(re.findall(r"\w+", text.partition("Beyond these: ")[2]))
    assert listed_names & other_names == set()
    assert listed_names | other_names == {*OF_THE_SPEC, *(rule["alert"] for rule in ALERTS)}


def test_a_condition_is_as_severe_as_its_alert() -> None:
    """Xids of one class have a second alert, which is less severe; one alert at least has the severity."""
    severities = {(rule["alert"], rule["labels"]["severity"]) for rule in ALERTS}
    for letter, severity in {"C": "critical", "W": "warning", "I": "info"}.items():
        for code, names in re.findall(rf"(?m)^\| ({letter}\d+) \| .+? \| (.+?) \|", PAGE.read_text()):
            assert names == "none" or any((name, severity) in severities for name in names.split(", ")), code


def test_every_xid_is_of_one_class() -> None:
    """Critical codes, the application's and notices are as in gpustack/versions/xid.csv; the rest are warnings."""
    table = {row[0]: (row[2], row[3]) for row in read_rows(ROOT / "gpustack" / "versions" / "xid.csv")[1:]}
    positive: dict[str, list[str]] = {name: [] for name in ("GpuXidCritical", "GpuXidApplication")}
    for rule in ALERTS:
        if rule["alert"] in positive:
            positive[rule["alert"]] += re.findall(r'xid=~"(.+?)"', rule["expr"])
    (warning,) = [rule for rule in ALERTS if rule["alert"] == "GpuXidWarning"]
    patterns = re.findall(r'xid!~"(.+?)"', warning["expr"])
    (follows,) = [rule for rule in ALERTS if rule["alert"] == "GpuXidFollowsGpu"]
    assert re.findall(r'xid=~"(.+?)"', follows["expr"]) == positive["GpuXidApplication"]
    for code, (kind, severity) in table.items():
        fires = [name for name, patterns in positive.items() for pattern in patterns if re.fullmatch(pattern, code)]
        fires += [] if any(re.fullmatch(pattern, code) for pattern in patterns) else ["GpuXidWarning"]
        notice = [] if severity == "info" else ["GpuXidWarning"]
        expected_names = (
            ["GpuXidCritical"] if severity == "critical" else ["GpuXidApplication"] if kind == "application" else notice
        )
        assert (code, fires) == (code, expected_names)


@pytest.mark.parametrize(
    "expr", ["DCGM_FI_DEV_GPU_UTILISATION > 1", "gpustack:gpu_heat:celsius", '{__name__=~"DCGM.*"}', "kube_node_infos"]
)
def test_the_linter_sees_an_unknown_name(expr: str) -> None:
    assert find_unknown(expr)


def test_the_linter_sees_the_exporters_name_in_an_alert() -> None:
    assert find_unknown("DCGM_FI_DEV_GPU_TEMP > 90", only_recorded=True) == ["DCGM_FI_DEV_GPU_TEMP"]


@pytest.mark.parametrize(
    "expr",
    [
        "rate(DCGM_FI_PROF_PCIE_TX_BYTES[5m])",
        "sum by (node, UUID) (increase(gpustack:gpu_power:watts[5m])) > 0",
        "1 - increase(DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL[5m:1m])",
    ],
)
def test_the_linter_sees_a_rate_of_a_gauge(expr: str) -> None:
    assert find_gauge_rates(expr)


@pytest.mark.parametrize(
    "expr",
    [
        "max(DCGM_FI_DEV_GPU_TEMP)",
        "max by (node) (gpustack:gpu_temperature:celsius) > 1",
        "sum without (UUID) (gpustack:gpu_power:watts)",
        "max by (node, UUID) (count by (UUID) (gpustack:gpu:info))",
    ],
)
def test_the_linter_sees_a_lost_label(expr: str) -> None:
    assert find_lost_labels(expr, "node", "UUID")
