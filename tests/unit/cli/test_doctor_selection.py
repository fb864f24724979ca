"""`doctor --limit` and `--only` on the recordings of a lab in examples/."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.errors import UsageError

RECORDINGS = Path(__file__).parents[3] / "examples" / "recordings"
LOST_GPU, API_DOWN = RECORDINGS / "gpu-fell-off-bus.jsonl", RECORDINGS / "api-server-down.jsonl"


def run_doctor(recording: Path, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["doctor", "-q", "--from", str(recording), *words], env={"COLUMNS": "200"})
    return result.exit_code, result.stdout


def list_roots(recording: Path, *words: str) -> list[str]:
    document = json.loads(run_doctor(recording, *words, "-o", "json")[1])
    return [root["id"] for root in document["roots"]]


def test_a_host_with_the_fault_is_reported_and_another_is_not() -> None:
    assert list_roots(LOST_GPU, "--limit", "host02") == ["gpu-fell-off-bus"]
    assert list_roots(LOST_GPU, "--limit", "host01") == []


def test_the_report_names_its_limits() -> None:
    code, text = run_doctor(LOST_GPU, "--limit", "host01", "--only", "gpu-fell-off-bus")
    assert (code, text.splitlines()[0].partition("; ")[2]) == (0, "limited to host01, only gpu-fell-off-bus")
    assert "no fault found\nruled out: gpu-fell-off-bus on host01 (GPUs on the bus: accessible)" in text


def test_a_named_fault_is_shown_with_the_hosts_that_lack_it() -> None:
    code, text = run_doctor(LOST_GPU, "--only", "gpu-fell-off-bus,gpu-xid-critical")
    assert code == 1
    assert "ROOT CAUSE  gpu-fell-off-bus  on host02" in text
    assert "gpu-fell-off-bus on host01 (GPUs on the bus: accessible)" in text
    assert "gpu-xid-critical on host01, host02" in text
    assert "DRIFT" not in text


def test_a_named_state_brings_its_root_cause() -> None:
    assert list_roots(API_DOWN, "--only", "st-apiserver-down") == ["controlplane-certs-expired"]


def test_a_named_fault_of_a_silent_cluster_is_unknown() -> None:
    code, text = run_doctor(API_DOWN, "--only", "mon-grafana-datasource-wrong")
    assert code == 8, text
    assert "no fault found" not in text


def test_a_fault_that_is_checked_elsewhere_is_unknown_on_these_hosts() -> None:
    code, text = run_doctor(LOST_GPU, "--limit", "host02", "--only", "st-apiserver-down")
    assert code == 8, text
    assert "none of the selected hosts is checked for it" in text


@pytest.mark.parametrize("words", [("--fix",), ("--undo",), ("--metrics", "x.prom")], ids=" ".join)
def test_a_part_is_refused_where_all_is_needed(words: tuple[str, ...]) -> None:
    error = CliRunner().invoke(app, ["doctor", "--limit", "gpu1", *words]).exception
    assert isinstance(error, UsageError)
    assert error.message.startswith("--limit and --only are mutually exclusive with")


def test_programs_get_the_selected_findings_alone() -> None:
    document = json.loads(run_doctor(LOST_GPU, "--only", "gpu-fell-off-bus", "-o", "json")[1])
    assert {judgement["id"] for judgement in document["judgements"]} == {"gpu-fell-off-bus"}
    assert "gpu-fell-off-bus" in run_doctor(LOST_GPU, "--only", "gpu-fell-off-bus", "-o", "junit")[1]
