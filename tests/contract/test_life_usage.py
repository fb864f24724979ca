"""Reports of made lives through a real Prometheus, against what has been: of sixty days out of raw series, and of some
days out of what promtool records by our rules; that is also compared with the arithmetic that judges many lives."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from gpustack.capacity.raw_rules import expand_names, load_expressions
from gpustack.capacity.read import query_usage
from gpustack.capacity.source import Source, choose_source
from gpustack.capacity.usage import Hours, group_hours
from gpustack.capacity.window import Window
from gpustack.metrics import web
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.web import Access
from gpustack.vocabulary import usage_series as series
from tests.contract.prometheus_server import OF_THE_PAST, build_data_command, run_prometheus
from tests.contract.promtool import find_program
from tests.worlds.life.draw import Life, draw
from tests.worlds.life.judged import find_wrong, judge
from tests.worlds.life.recorded import NAMES, record

SEEDS = (1, 2, 3, 4, 5)
RECORDED_DAYS, DAYS = (1, 3), 6
"""promtool asks for each rule and two hours: half a minute for six days. In these lives Prometheus is never away:
promtool would evaluate meanwhile, and see for five minutes what was there."""
READ = (
    series.UNIT, series.GPUS, series.OFFERED_UNITS, series.ALLOCATED_UNITS,
    series.ATTRIBUTED_UNITS, series.ACTIVE_UNITS, series.IDLE_UNITS,
    series.QUEUED_UNITS, series.SCHEDULED_PODS, series.WAITED_SECONDS,
)  # fmt: skip
OTHER_SERIES = {"kube_pod_init_container_resource_requests", "DCGM_FI_DEV_GPU_UTIL"}

ANSWER_LIMIT = 900.0
"""Seconds: weeks of raw series are much work, and this machine may be slow."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(autouse=True)
def wait_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("READ_LIMIT", "ANSWER_LIMIT"):
        monkeypatch.setattr(web, limit, ANSWER_LIMIT)


def render_rules() -> str:
    """Render the rules that the reader asks for, each by raw series alone: promtool evaluates them all at once."""
    recorded_rules = [{"record": series.SAMPLE, "expr": f"vector({series.INTERVAL})"}]
    recorded_rules += [{"record": name, "expr": expand_names(load_expressions()[name])} for name in READ]
    return yaml.safe_dump({"groups": [{"name": "usage", "interval": "60s", "rules": recorded_rules}]})


def record_rules(folder: Path, url: str, life: Life) -> None:
    (folder / "rules.yaml").write_text(render_rules())
    command = [
        find_program("promtool"), "tsdb", "create-blocks-from", "rules", f"--start={int(life.start)}",
        f"--end={int(life.truth.known_end)}", f"--url={url}", "--eval-interval=60s",
        f"--output-dir={folder / 'recorded'}", str(folder / "rules.yaml"),
    ]  # fmt: skip
    process = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert process.returncode == 0, process.stderr[-2000:]


def build_window(life: Life) -> Window:
    return Window(int(life.start), int(life.truth.known_end))


@pytest.mark.parametrize("seed", SEEDS)
def test_out_of_raw_series_hours_and_money_are_what_has_been(writer: Path, tmp_path: Path, seed: int) -> None:
    """The test reads more raw series than a report asks a Prometheus for."""
    life = draw(seed, small=True)
    life.write_blocks(writer, tmp_path / "data", names={*NAMES, *OTHER_SERIES})
    with run_prometheus(tmp_path, build_data_command(tmp_path, {}, OF_THE_PAST)) as server:
        source = Source(Prometheus(Access(server.url)), build_window(life), "label_team", "", recorded=False)
        assert find_wrong(judge(life, source)) == {}


@pytest.mark.parametrize("seed", RECORDED_DAYS)
def test_out_of_recorded_series_they_are_too(writer: Path, tmp_path: Path, seed: int) -> None:
    life = draw(seed, days=DAYS, small=True)
    life.write_blocks(writer, tmp_path / "data", names={*NAMES, *OTHER_SERIES})
    with run_prometheus(tmp_path, build_data_command(tmp_path, {}, OF_THE_PAST)) as server:
        source = choose_source(Prometheus(Access(server.url)), build_window(life), "label_team", "")
        assert not source.recorded
        assert find_wrong(judge(life, source)) == {}
        record_rules(tmp_path, server.url, life)
    for block in (tmp_path / "recorded").iterdir():
        shutil.move(block, tmp_path / "data")
    with run_prometheus(tmp_path, build_data_command(tmp_path, {}, OF_THE_PAST)) as server:
        source = choose_source(Prometheus(Access(server.url)), build_window(life), "label_team", "")
        assert source.recorded
        assert find_wrong(judge(life, source)) == {}
        usage, arithmetic = query_usage(source), query_usage(record(life).build_source())
    for row in group_hours(arithmetic, ("model", "namespace", "team")):
        rows = [hour for hour in group_hours(usage, ("model", "namespace", "team")) if hour.names == row.names]
        assert vars(rows[0].hours if rows else Hours()) == pytest.approx(vars(row.hours), rel=0.002, abs=0.3)
