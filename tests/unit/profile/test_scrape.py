"""Windows from what an exporter prints, in the format that it prints it in."""

import pytest

from gpustack.errors import MissingDataError
from gpustack.metrics.exposition import parse_families
from gpustack.profile.analysis import analyze
from gpustack.profile.file import build_profile
from gpustack.profile.scrape import Scrapes
from gpustack.profile.selection import Selection
from tests.worlds.prometheus.exporter_page import render_page


def collect_scrapes(selection: Selection, seconds: int = 1800, interval: int = 10) -> tuple[Scrapes, int]:
    """Collect scrapes of an exporter that collects every ten seconds, and count how often it was asked."""
    scrapes, moment, times = Scrapes(selection), 0.0, 0
    while moment <= seconds:
        scrapes.add(parse_families(render_page(1e6 + moment // interval * 15_000)), moment)
        moment, times = moment + scrapes.pause, times + 1
    return scrapes, times


def test_an_exporter_is_asked_at_its_own_pace() -> None:
    """Twice as often as it collects, once that is known: no new value is missed."""
    scrapes, times = collect_scrapes(Selection("team-a", "train-0"))
    assert scrapes.pause == 5.0
    assert times < 1800 / 5 + 50
    (window,) = scrapes.build_job("http://gpu1:9400/metrics").windows
    assert window.interval == 10.0
    assert window.samples == pytest.approx(180, abs=2)
    assert window.gaps < 0.02
    assert window.pods == ("team-a/train-0",)
    assert window.settings == {"ecc": 1.0}


def test_what_it_does_not_send_is_in_the_profile() -> None:
    scrapes, _ = collect_scrapes(Selection())
    profile = build_profile(scrapes.build_job("x"), "gpu1", "", 0, 1800)
    assert "power" in profile.missing
    assert "engine" not in profile.missing
    assert profile.units["pcie_receive"] == "bytes_per_second"
    assert analyze(profile).verdict.id == "memory-bound"


def test_another_pod_is_not_taken() -> None:
    scrapes, _ = collect_scrapes(Selection("team-a", "train-1"), 100)
    with pytest.raises(MissingDataError) as excinfo:
        scrapes.build_job("http://gpu1:9400/metrics")
    assert excinfo.value.reference == "profile-nothing"
