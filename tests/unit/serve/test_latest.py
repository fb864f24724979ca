"""Many requests share one reading."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpustack.errors import UnreachableError, UsageError
from gpustack.serve import latest
from gpustack.serve.latest import LatestMoment
from gpustack.serve.moment import Moment
from gpustack.serve.refusal import Refusal
from tests.worlds.prometheus.gpu_series import build_gpu_series
from tests.worlds.prometheus.moments import make_moment

FOUND = make_moment(build_gpu_series("gpu1", 0))


def test_requests_at_once_share_one_question() -> None:
    asked: list[float] = []
    gate = threading.Event()

    def ask() -> Moment:
        asked.append(1)
        assert gate.wait(10)
        return FOUND

    shared = LatestMoment(ask, interval=60)
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(shared) for _ in range(20)]
        gate.set()
        assert all(one.result() is FOUND for one in waiting)
    assert shared() is FOUND
    assert len(asked) == 1


def test_it_is_asked_again_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    asked: list[int] = []

    def ask() -> Moment:
        asked.append(1)
        return FOUND

    shared = LatestMoment(ask, interval=5)
    for at, times in ((100, 1), (104.9, 1), (105, 2), (109, 2), (111, 3)):
        clock[0] = at
        shared()
        assert len(asked) == times, at


def test_an_error_stands_as_long_as_an_answer() -> None:
    """A Prometheus that is down is not asked by every request."""
    asked: list[int] = []

    def ask() -> Moment:
        asked.append(1)
        raise UnreachableError("prometheus-unreachable", "http://u:geheim1@p did not answer.", "Connection refused")

    shared = LatestMoment(ask, interval=60)
    for _ in range(3):
        with pytest.raises(Refusal) as caught:
            shared()
        assert (caught.value.status, caught.value.reference) == (503, "prometheus-unreachable")
        assert "Connection refused." in caught.value.reason
        assert "geheim1" not in caught.value.reason
    assert len(asked) == 1


def test_a_prometheus_without_gpus_has_answered() -> None:
    def ask() -> Moment:
        raise UsageError("gpu-no-series", "It has no metrics of GPUs.")

    with pytest.raises(Refusal) as caught:
        LatestMoment(ask, interval=60)()
    assert caught.value.status == 404


def test_nobody_waits_for_one_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prometheus is not asked a second time meanwhile; what it answers in the end is taken."""
    monkeypatch.setattr(latest, "WAIT_LIMIT", 0.05)
    gate, asked = threading.Event(), []

    def ask() -> Moment:
        asked.append(1)
        assert gate.wait(10)
        return FOUND

    shared = LatestMoment(ask, interval=60)
    for _ in range(3):
        with pytest.raises(Refusal) as caught:
            shared()
        assert (caught.value.status, caught.value.reference) == (503, "serve-late")
    monkeypatch.setattr(latest, "WAIT_LIMIT", 10)
    gate.set()
    assert shared() is FOUND
    assert len(asked) == 1


def test_a_bug_is_no_refusal() -> None:
    def ask() -> Moment:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        LatestMoment(ask, interval=60)()
