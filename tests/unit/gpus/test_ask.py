"""Owners of GPUs are queried beside the values, where Prometheus renames labels and where it does not."""

import pytest

from gpustack.errors import MissingDataError
from gpustack.gpus.fleet import FIELDS, Fleet, build_fleet
from gpustack.gpus.queries import query_readings, query_sharing
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.web import Access
from tests.worlds.prometheus.gpu_series import build_gpu_series

TARGET = {"job": "metrics", "instance": "10.0.0.7:9400"}
OWN_POD = {"namespace": "gpu-operator", "pod": "gpu-metrics-x7k2p"}
TRAIN = {"namespace": "team-a", "pod": "train-0", "container": "main"}


def serve_prometheus(monkeypatch: pytest.MonkeyPatch, expressions: list[str], *series: list[Series]) -> Prometheus:
    """Build a Prometheus that scrapes an exporter whose pod has a name of its own."""

    def answer(self: Prometheus, expr: str, time: float | None = None) -> tuple[Series, ...]:
        expressions.append(expr)
        if expr.startswith("up"):
            return (Series({"__name__": "up", **TARGET, **OWN_POD}, ((1000.0, 1.0),)),)
        if expr.startswith("kube_node_labels"):
            labels = {"node": "gpu1", "label_nvidia_com_gpu_sharing_strategy": "time-slicing"}
            return (Series(labels, ((1000.0, 1.0),)),)
        return tuple(one_series for group in series for one_series in group)

    monkeypatch.setattr(Prometheus, "query_instant", answer)
    return Prometheus(Access("http://prometheus.example.org"))


def list_owners(fleet: Fleet) -> list[list[str]]:
    return [[owner.path for owner in card.owners] for card in fleet.cards]


def test_an_exporter_of_any_name_is_no_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    """A free GPU, one in use, and one in use where Prometheus honours the exporter's labels."""
    questions: list[str] = []
    free = build_gpu_series("gpu1", 0, TARGET | OWN_POD | {"container": "main"})
    used_gpu = build_gpu_series(
        "gpu1", 1, TARGET | OWN_POD | {f"exported_{name}": value for name, value in TRAIN.items()}
    )
    honoured_labels = build_gpu_series("gpu1", 2, TARGET | TRAIN)
    readings = query_readings(serve_prometheus(monkeypatch, questions, free, used_gpu, honoured_labels), FIELDS)
    assert list_owners(build_fleet(readings, 1010.0)) == [[], ["team-a/train-0"], ["team-a/train-0"]]
    assert questions[1:] == ['up{job=~"metrics"}']


def test_what_needs_no_second_question_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[str] = []
    query_readings(serve_prometheus(monkeypatch, questions, build_gpu_series("gpu1", 0)), FIELDS)
    assert len(questions) == 1


def test_labels_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[str] = []
    source = serve_prometheus(monkeypatch, questions, [])
    with pytest.raises(MissingDataError) as excinfo:
        query_readings(source, FIELDS, {"team": 'a"b'})
    assert questions[0].endswith(',team="a\\"b"}[120s]')
    assert excinfo.value.reason == "No series of a GPU has these labels."


def test_shared_gpus_have_all_pods_that_the_exporter_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option --kubernetes-virtual-gpus of dcgm-exporter makes a series for each pod, by label vgpu."""
    questions: list[str] = []
    pods = [{"exported_namespace": "team-a", "exported_pod": f"serve-{number}"} for number in range(2)]
    shared_series = [build_gpu_series("gpu1", 0, pod | {"vgpu": str(number)}) for number, pod in enumerate(pods)]
    source = serve_prometheus(monkeypatch, questions, *shared_series, build_gpu_series("gpu2", 0, pods[0]))
    fleet = build_fleet(query_readings(source, FIELDS), 1010.0, query_sharing(source))
    assert list_owners(fleet) == [["team-a/serve-0", "team-a/serve-1"], ["team-a/serve-0"]]
    assert [card.sharing for card in fleet.cards] == ["time-slicing", None]
    assert fleet.doubts == ()


def test_a_shared_gpu_with_one_pod_is_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = {"exported_namespace": "team-a", "exported_pod": "serve-0"}
    source = serve_prometheus(monkeypatch, [], build_gpu_series("gpu1", 0, pod))
    (doubt,) = build_fleet(query_readings(source, FIELDS), 1010.0, query_sharing(source)).doubts
    assert doubt.startswith("GPUs of gpu1 are shared")
