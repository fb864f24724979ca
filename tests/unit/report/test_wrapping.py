"""Texts of a report are wrapped without blanks at the ends of their lines, which a diff or a ticket would show."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.gpus.series import Metrics
from gpustack.report.doctor.text import print_heading
from gpustack.report.explain.width import wrap_for_terminal
from gpustack.report.findings import print_field, print_text
from gpustack.report.gpus.metrics import render_human
from gpustack.report.profile.comparison import render_human as render_comparison
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from tests.worlds.prometheus.gpu_series import make_metrics
from tests.worlds.prometheus.workloads import compare_runs

FACTS = "seen: 2 of 2 nodes Ready, 22 of 22 pods of gpu-operator, monitoring ready, 4 GPUs allocatable"


@pytest.mark.parametrize("width", range(20, 60))
def test_no_line_ends_with_a_blank(width: int) -> None:
    with (console := Terminal(width=width)).capture() as capture:
        print_text(console, FACTS, "green")
        print_field(console, "seen", FACTS, 6)
    lines = capture.get().splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert " ".join(capture.get().split()).count(FACTS) == 2


def test_a_newline_is_kept_and_its_line_indented() -> None:
    with (console := Terminal(width=40)).capture() as capture:
        print_text(console, "\nfirst\nsecond\n\nlast")
    assert capture.get() == "\nfirst\n  second\n\n  last\n"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_unit_of_a_metric_is_below_its_heading(width: int) -> None:
    metric = replace(make_metrics().metrics[0], name="DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS")
    with (console := Terminal(width=width)).capture() as capture:
        render_human(console, Metrics((metric,), ()))
    lines = capture.get().splitlines()
    heading, values = (line for line in lines if line.split()[-1:] in (["UNIT"], ["bytes"]))
    assert heading.index("SERIES") == values.index("8")
    assert heading.index("UNIT") == values.index("bytes")


PATH = "/opt/local-path-provisioner/pvc-7d6a9f2e_monitoring_prometheus-monitoring-prometheus-db-0"


@pytest.mark.parametrize("width", [40, 52, 60, 80])
def test_a_long_path_is_split_behind_a_slash_or_a_mark(width: int) -> None:
    with (console := Terminal(width=width)).capture() as capture:
        print_field(console, "volume", f"its data in {PATH} stays", 11)
        console.print(draw_table(console, ("PATH",), [(PATH,)]))
    lines = [line.strip() for line in capture.get().splitlines()]
    assert [line for line in lines if len(line) > width] == []
    parts = [line.removeprefix("volume").split()[-1] for line in lines if line not in ("", "PATH")]
    cut_parts = [part for part in parts if len(part) > 2 and part in PATH and not PATH.endswith(part)]
    assert cut_parts != [] or width == 80
    assert [part for part in cut_parts if part[-1] not in "/-_"] == []


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_heading_is_no_longer_than_the_terminal(width: int) -> None:
    with (console := Terminal(width=width)).capture() as capture:
        print_heading(
            console, "NOTE", "pod kube-system/coredns-5d8f9c7b6-x2k4p and 3 more", ("gpu1",), "warning-of-pod", "dim"
        )
    lines = capture.get().splitlines()[1:]
    assert [line for line in lines if len(line) > width] == []
    assert " ".join(" ".join(lines).split()) == (
        "NOTE pod kube-system/coredns-5d8f9c7b6-x2k4p and 3 more on gpu1 (warning-of-pod)"
    )


@pytest.mark.parametrize(("is_terminal", "width"), [(True, 60), (False, 120)])
def test_the_line_about_a_recording_is_wrapped_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    text = "recording examples/recordings/api-server-down.jsonl of 2026-11-30 15:55 UTC: 2 hosts of inventory mycluster"
    assert width - 40 < max(map(len, wrap_for_terminal(text).splitlines())) <= width
    assert " ".join(wrap_for_terminal(text).split()) == text


def test_a_comparison_fits_into_a_narrow_terminal() -> None:
    with (console := Terminal(width=40)).capture() as capture:
        render_comparison(console, *compare_runs())
    assert [line for line in capture.get().splitlines() if len(line) > 40] == []


def test_findings_fit_a_narrow_terminal() -> None:
    recording = Path(__file__).parents[3] / "examples" / "recordings" / "gpu-fell-off-bus.jsonl"
    words = ["verify", "-v", "--from", str(recording), "-q"]
    lines = CliRunner().invoke(app, words, env={"COLUMNS": "40"}).stdout.splitlines()
    rows = [line for line in lines if line.startswith(("  ok ", "  differs ", "  unknown "))]
    assert len(rows) > 5
    assert [row for row in rows if len(row) > 40] == []
