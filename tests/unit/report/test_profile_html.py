"""The pages of verdicts and comparisons: well-formed, nothing from elsewhere, readable in both schemes."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.profile.analysis import analyze
from gpustack.profile.file import build_profile, read_profile
from gpustack.report.profile.html import render_comparison, render_html
from gpustack.report.profile.plot import HEIGHT, WIDTH, Line, Plot, resample_values
from tests.unit.report.page import Page
from tests.worlds.prometheus.workloads import MECHANISMS, analyze_run, compare_runs, make_job

EVIL = "<script>alert(1)</script>\x1b[2J"


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_verdict_is_a_well_formed_page(name: str) -> None:
    analysis = analyze(build_profile(make_job(name, random.Random(4)), "x", "", 0, 1), workload="training")
    page = Page(render_html(analysis))
    assert analysis.verdict.title in page.text
    assert all(reason in page.text for reason in analysis.verdict.reasons)
    assert "script" not in page.tags
    assert page.list_values("src") == page.list_values("href") == []


def test_a_comparison_is_a_well_formed_page() -> None:
    page = Page(render_comparison(*compare_runs()))
    assert "useful work per GPU-hour rose" in page.text
    assert "power>10%: failed" in page.text


def test_a_comparison_names_quantities_as_its_plots_do() -> None:
    text = render_comparison(*compare_runs())
    assert "<td>SMs</td>" in text
    assert "<td>sm</td>" not in text
    (heading,) = re.findall(r"<h1>(.*?)</h1>", text)
    assert "&nbsp;%" in heading
    assert " %" not in heading


@pytest.mark.parametrize("page", [render_html(analyze_run()), render_comparison(*compare_runs())])
def test_nothing_is_fetched_and_both_schemes_are_there(page: str) -> None:
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("prefers-color-scheme: dark") == 2
    colours = re.findall(r"--c[0-7]:", page)
    assert len(colours) == 2 * 8


def test_no_name_becomes_markup() -> None:
    analysis = analyze_run()
    page = render_html(replace(analysis, profile=replace(analysis.profile, label=EVIL, subject=EVIL)))
    assert "<script" not in page
    assert "\x1b" not in page


def test_lines_stay_in_their_plot() -> None:
    plot = Plot("x", "ratio", 60, (Line("a", [-1.0, 0.5, 1.04, 0.2], 0), Line("b", [0.1], 1, 0.5)))
    points = re.findall(r"([\d.]+),([\d.]+)", " ".join(re.findall('points="(.*)"', plot.svg)))
    assert len(points) == 5
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in points)


def test_an_hour_of_seconds_is_drawn_as_means() -> None:
    assert len(resample_values([0.5] * 3600)) <= 380
    assert resample_values([0.0, 1.0]) == [0.0, 1.0]
    assert resample_values([]) == []


def test_a_page_says_when_and_where_its_profile_was_recorded() -> None:
    profile = read_profile(Path(__file__).parents[3] / "examples" / "profiles" / "before.json")
    page = render_html(analyze(profile))
    assert "recorded 2026-11-26 00:00:00 UTC on gpu1, driver unknown" in page
    assert ">memory bandwidth<" in page
