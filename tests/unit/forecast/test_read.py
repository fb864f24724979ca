"""A Prometheus is asked for demand, and its answers become hours."""

import re

import pytest

from gpustack.errors import MissingDataError
from gpustack.forecast.read import query_demands
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.web import Access
from gpustack.times import DAY, HOUR

END = 20_000 * DAY
GPU = {"resource": "nvidia_com_gpu"}
KIND = re.compile(r"max by \(node\) \(kube_node_spec|pod_gpus_pending|node_gpu_requested")
KINDS = {"max by (node) (kube_node_spec": "capacity", "pod_gpus_pending": "queued", "node_gpu_requested": "allocated"}
Values = dict[str, dict[int, float]]


@pytest.fixture
def stored_values(monkeypatch: pytest.MonkeyPatch) -> Values:
    """Values by kind and end of the hour, which the test puts in."""
    values: Values = {"capacity": {}, "queued": {}, "allocated": {}}

    def answer(self: Prometheus, expr: str, begin: float, end: float, step: float) -> tuple[Series, ...]:
        assert step == HOUR
        assert end - begin < 7 * DAY
        match = KIND.search(expr)
        assert match
        points = tuple(
            (float(moment), value) for moment, value in values[KINDS[match[0]]].items() if begin <= moment <= end
        )
        return (Series(GPU, points),) if points else ()

    monkeypatch.setattr(Prometheus, "query_range", answer)
    monkeypatch.setattr(Prometheus, "fetch_time", lambda _: END + 5000.0)
    return values


PROMETHEUS = Prometheus(Access("http://prometheus.example.org"))


def fill(history: Values, **values: float) -> None:
    for kind, value in values.items():
        history[kind] = dict.fromkeys(range(END - 20 * DAY, END + DAY, HOUR), value)


def test_hours_are_those_before_the_last_midnight(stored_values: Values) -> None:
    fill(stored_values, capacity=8, allocated=3, queued=0)
    stored_values["allocated"][END - 10 * DAY + HOUR] = 5
    (demand,) = query_demands(PROMETHEUS, 10 * DAY)
    assert (demand.pool, demand.begin) == ("nvidia_com_gpu", END - 10 * DAY)
    assert list(demand.allocated_gpus) == [5, *[3] * 239]
    assert list(demand.capacity) == [8] * 240


def test_what_prometheus_does_not_have_is_unknown(stored_values: Values) -> None:
    fill(stored_values, capacity=8, allocated=3, queued=0)
    del stored_values["allocated"][END - 2 * DAY]
    (demand,) = query_demands(PROMETHEUS, 90 * DAY)
    assert list(demand.allocated_gpus).count(None) == 70 * 24 - 1 + 1
    assert demand.allocated_gpus[-49] is None


def test_a_queue_that_was_never_there_may_be_elsewhere(stored_values: Values) -> None:
    fill(stored_values, capacity=8, allocated=8, queued=0)
    assert not query_demands(PROMETHEUS, 10 * DAY)[0].whole_queue
    stored_values["queued"][END] = 2
    assert query_demands(PROMETHEUS, 10 * DAY)[0].whole_queue


def test_of_some_nodes_the_queue_is_not_known(stored_values: Values) -> None:
    fill(stored_values, capacity=8, allocated=8, queued=3)
    (demand,) = query_demands(PROMETHEUS, 10 * DAY, nodes="h100-.+")
    assert set(demand.queued_gpus) == {None}
    assert not demand.whole_queue


@pytest.mark.parametrize("resource", ["", "nvidia_com_mig_1g_10gb"])
def test_nothing_of_the_kind_is_an_error(stored_values: Values, resource: str) -> None:
    if resource:
        fill(stored_values, capacity=8)
    with pytest.raises(MissingDataError, match="knows no"):
        query_demands(PROMETHEUS, 10 * DAY, resource=resource)
