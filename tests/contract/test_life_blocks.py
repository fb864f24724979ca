"""Made lives in a real Prometheus: what it answers is what has been."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract.prometheus_server import OF_THE_PAST, Prometheus, build_data_command, run_prometheus
from tests.worlds.life.draw import Life, draw

SEEDS = (1, 2, 3, 4, 5)
RESOURCE = 'resource=~"nvidia_com_.+"'
LIVE = """
  max by (namespace, pod, uid) (kube_pod_container_resource_requests{%s,node!=""})
  and on (namespace, pod, uid) kube_pod_status_phase{phase=~"Pending|Running"} == 1
"""
ENGINES = """
  max by (UUID, GPU_I_ID, exported_namespace, exported_pod) (DCGM_FI_PROF_GR_ENGINE_ACTIVE{exported_pod!="",vgpu=""})
"""
STEP = 120

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@dataclass
class ServedLife:
    life: Life
    server: Prometheus

    def sum_hours(self, expr: str) -> dict[str, float]:
        """Sum the hours of an expression by namespace over the known days, at a step of two minutes."""
        life = self.life
        begin, days = int(life.truth.known_end), life.truth.days
        summed_hours = f"sum by (namespace) (sum_over_time(({expr})[{days}d:{STEP}s] @ {begin})) * {STEP} / 3600"
        return {
            series["metric"].get("namespace", ""): float(series["value"][1])
            for series in self.server.answer(summed_hours)
        }


@pytest.fixture(scope="module", params=SEEDS)
def served_life(
    request: pytest.FixtureRequest, writer: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedLife]:
    life, folder = draw(request.param, small=True), tmp_path_factory.mktemp("life")
    life.write_blocks(writer, folder / "data")
    with run_prometheus(folder, build_data_command(folder, {}, OF_THE_PAST)) as server:
        yield ServedLife(life, server)


def test_allocated_gpus_are_summed_by_namespace(served_life: ServedLife) -> None:
    sums = served_life.sum_hours(f"sum by (namespace) ({LIVE % RESOURCE})")
    truth = served_life.life.truth
    gaps = served_life.life.scrapes.list_gaps(served_life.life.start, truth.known_end)
    hours = {name: value for (name,), value in truth.compute_hours(("namespace",), unit="units", holes=gaps).items()}
    assert sums.keys() == hours.keys()
    assert sum(sums.values()) == pytest.approx(sum(hours.values()), rel=0.003)
    assert sums == pytest.approx(hours, rel=0.005, abs=0.5)


def test_engine_activity_is_summed_by_namespace(served_life: ServedLife) -> None:
    renamed_series = 'label_replace(%s, "namespace", "$1", "exported_namespace", "(.+)")'
    not_shared = ENGINES.replace("vgpu=", 'hostname!~"shared-.*",vgpu=')
    sums = served_life.sum_hours(f"sum by (namespace) ({renamed_series % not_shared})")
    hours = served_life.life.truth.compute_hours(
        ("namespace",), "active", unit="units", of=lambda pod: pod.pool.sharing != "time-slicing"
    )
    assert sums == pytest.approx({name: value for (name,), value in hours.items()}, rel=0.02, abs=0.5)


def test_a_series_ends_with_its_pod(served_life: ServedLife) -> None:
    """Two scrapes after a pod was deleted its series is gone, though Prometheus looks back for five minutes."""
    life, gaps = (
        served_life.life,
        served_life.life.scrapes.list_gaps(served_life.life.start, served_life.life.truth.known_end),
    )
    deleted_pods = [
        pod
        for pod in life.truth.pods
        if life.start + 600 < pod.deletion < life.truth.known_end - 600
        and not any(begin - 300 < pod.deletion < end + 300 for begin, end in gaps)
    ][-40:]
    assert deleted_pods
    for pod in deleted_pods:
        for moment, is_present in ((pod.deletion - 1, True), (pod.deletion + 121, False)):
            answer = served_life.server.answer(f'kube_pod_info{{uid="{pod.uid}"}} @ {moment:.0f}')
            assert bool(answer) == (is_present and pod.creation < pod.deletion - 70)
