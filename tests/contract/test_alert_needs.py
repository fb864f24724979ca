"""Tests that the table of what alerts need has each alert, and that it calls none silent that fires in a test."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.gpus.contract import judge_exporter
from gpustack.metrics.exposition import parse_page
from gpustack.probes.gpu.alert_inputs import build_expression
from gpustack.vocabulary.alert_needs import find_missing_words, load_alert_needs
from gpustack.vocabulary.fields import find_fields, find_original
from gpustack.vocabulary.labels import DRIVERS
from tests.contract.promql import ROOT, RULES, read_rules
from tests.contract.promtool import run_promtool
from tests.unit.gpus.exporter_faults import read_page

BEGIN = "## Which alert can fire where"
BOARD_PAGES = {"T4": "t4-idle", "MIG board": "a800-mig", "vGPU guest": "vgpu-guest-a100-10c"}
HEAT = "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS"
CASES = [
    (f"{file.stem}-{number}", case)
    for file in sorted((RULES / "tests").glob("*.yaml"))
    for number, case in enumerate(yaml.safe_load(file.read_text())["tests"])
]

SCRAPED_CASES = {name: case for name, case in CASES if "gpustack:" not in str(case["input_series"])}
"""Cases whose input is scraped: what a rule has recorded does not show of which fields it was made."""


def list_words(series: str) -> Iterator[str]:
    """List the words of the table that stand for an input series of a test, and for its labels."""
    name, _, rest = series.partition("{")
    labels = dict(re.findall(r'(\w+)="([^"]+)"', rest))
    yield find_original(fields[0]).name if (fields := find_fields(name)) else name
    yield from (f"{name}{{{label}}}" for label in labels)
    yield from ("{pod}" for label in ("exported_pod", "pod") if label in labels and name.startswith("DCGM_"))
    yield from (f"{{{label}}}" for label in labels if label in ("GPU_I_ID", "UUID", "modelName"))
    yield from ("DCGM_FI_DRIVER_VERSION" for label in labels if label in DRIVERS)
    yield "{node}"


def list_fired_alerts(case: dict[str, Any]) -> set[str]:
    samples = [sample["labels"] for probe in case["promql_expr_test"] for sample in probe.get("exp_samples", [])]
    return {name for labels in samples for name in re.findall(r'alertname="(\w+)"', labels)}


@pytest.mark.parametrize("case", SCRAPED_CASES.values(), ids=SCRAPED_CASES)
def test_an_alert_that_fires_has_what_it_needs(case: dict[str, Any]) -> None:
    words = {word for entry in case["input_series"] for word in list_words(entry["series"])}
    needs = load_alert_needs()
    words_missing_by_alert = {
        alert: find_missing_words(needs[alert], words) for alert in list_fired_alerts(case) & needs.keys()
    }
    assert {alert: missing for alert, missing in words_missing_by_alert.items() if missing} == {}


def test_a_target_that_tells_of_a_gpu_is_an_exporter(tmp_path: Path) -> None:
    """Whatever its job is called, as in the rules. Targets of other programs are none."""
    target, other_target = ('{job="gpu-metrics",instance="gpu1:9400"}', '{job="node",instance="gpu1:9100"}')
    series = [f"up{target}", f"DCGM_FI_DEV_GPU_TEMP{target}", f"scrape_duration_seconds{other_target}"]
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": "1x10"} for name in series],
        "promql_expr_test": [
            {
                "expr": f"count by (metric) ({build_expression()})",
                "eval_time": "5m",
                "exp_samples": [
                    {"labels": f'{{metric="{name}"}}', "value": 1} for name in ("DCGM_FI_DEV_GPU_TEMP", "up")
                ],
            }
        ],
    }
    (tmp_path / "case.yaml").write_text(json.dumps({"tests": [case]}))
    assert run_promtool("test", "rules", tmp_path / "case.yaml") == ""


def test_every_alert_is_resolved_to_its_sources() -> None:
    needs = load_alert_needs()
    assert needs.keys() == {rule["alert"] for rule in read_rules("gpu-alerts.yaml")}
    assert [
        word
        for alert_needs in needs.values()
        for words in alert_needs
        for word in words
        if word.startswith("gpustack:")
    ] == []


@pytest.mark.parametrize(
    ("alert", "alternatives"),
    [
        ("GpuMonitoringBlind", [""]),
        ("GpuHwThermalSlowdown", [HEAT, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"]),
        ("GpuSbeStorm", ["DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"]),
        (
            "GpuCountersDead",
            [
                f"{witness} DCGM_FI_PROF_{counter}_ACTIVE"
                for witness in ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT DCGM_FI_DEV_POWER_USAGE")
                for counter in ("GR_ENGINE", "SM")
            ],
        ),
        ("GpuMemoryGrowth", ["DCGM_FI_DEV_FB_FREE DCGM_FI_DEV_FB_USED {pod}"]),
    ],
)  # fmt: skip
def test_alternatives_are_those_of_the_expression(alert: str, alternatives: list[str]) -> None:
    """The label of a selector chooses among rules of one name, also behind a rule that passes all labels on. Counters
    contradict another measurement, never the engine that stands for utilisation elsewhere."""
    assert sorted(" ".join(sorted(words)) for words in load_alert_needs()[alert]) == sorted(alternatives)


def test_the_table_of_boards_agrees_with_the_pages() -> None:
    """The table says the same of a board by its recorded page as `gpu check-exporter` says of that page."""
    head, *rows = re.findall(r"(?m)^\| (.+) \|$", (ROOT / "docs" / "alerts.md").read_text().partition(BEGIN)[2])
    column = {name: number for number, name in enumerate(head.split(" | "))}
    linked_rows = [row.split(" | ") for row in rows if row.startswith("[")]
    cells_by_alert = {cells[0][1:].partition("]")[0]: cells for cells in linked_rows}
    assert cells_by_alert.keys() == load_alert_needs().keys()
    for board, page in BOARD_PAGES.items():
        silent = {alert.name for alert in judge_exporter("", parse_page(read_page(page)), None, 0).silent_alerts}
        marked_alerts = {alert for alert, cells in cells_by_alert.items() if cells[column[board]] == "page"}
        assert not marked_alerts & silent, board
        assert load_alert_needs().keys() - silent - marked_alerts == {
            alert for alert, cells in cells_by_alert.items() if cells[column[board]] == "all"
        }
