"""Pages that dcgm-exporter printed on real boards give no verdict that acts, and none is ok without two sources."""

from pathlib import Path

import pytest

from gpustack.health.fleet import build_health
from gpustack.health.sources import NodeOffer, Sources
from gpustack.metrics.exposition import parse_families
from gpustack.metrics.readings import build_readings

PAGES = sorted((Path(__file__).parents[2] / "recorded" / "exporter-pages").glob("*.prom"))
REFUSED_PAGE = "a800-mig-unconvertible-row"


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != REFUSED_PAGE], ids=lambda page: page.stem)
@pytest.mark.parametrize("has_kubelet", [True, False])
def test_no_real_board_is_to_be_reset(page: Path, has_kubelet: bool) -> None:
    series = [series for family in parse_families(page.read_text()) for series in family.series]
    readings = build_readings(series, {})
    nodes = {reading.gpu.node for reading in readings.newest}
    offer = NodeOffer({"nvidia_com_gpu": 9}, {"nvidia_com_gpu": 9})
    offers = dict.fromkeys(nodes, offer) if has_kubelet else {}
    health = build_health(Sources(readings, offers, frozenset(), {}, (), 1010.0))
    verdicts = {entry.gpu.uuid: entry.verdict for entry in health.gpus}
    assert verdicts
    assert set(verdicts.values()) <= {"ok", "watch", "unknown"}
    for entry in health.gpus:
        sources = {sign.source for sign in entry.signs}
        assert entry.verdict != "ok" or len(sources) >= 2
