"""Many requests share one reading."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpustack.errors import MissingDataError, UnreachableError
from gpustack.serve import latest
from gpustack.serve.latest import LatestMoment
from gpustack.serve.moment import Moment
from gpustack.serve.refusal import Refusal
from tests.worlds.prometheus.gpu_series import build_gpu_series
from tests.worlds.prometheus.moments import make_moment

FOUND_MOMENT = make_moment(build_gpu_series("gpu1", 0))


def test_requests_at_once_share_one_question() -> None:
    questions: list[float] = []
    gate = threading.Event()

    def ask() -> Moment:
        questions.append(1)
        assert gate.wait(10)
        return FOUND_MOMENT

    latest = LatestMoment(ask, interval=60)
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(latest) for _ in range(20)]
        gate.set()
        assert all(future.result() is FOUND_MOMENT for future in waiting)
    assert latest() is FOUND_MOMENT
    assert len(questions) == 1


def test_it_is_asked_again_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    questions: list[int] = []

    def ask() -> Moment:
        questions.append(1)
        return FOUND_MOMENT

    latest = LatestMoment(ask, interval=5)
    for time_of_request, times in ((100, 1), (104.9, 1), (105, 2), (109, 2), (111, 3)):
        clock[0] = time_of_request
        latest()
        assert len(questions) == times, time_of_request


def test_an_error_stands_as_long_as_an_answer() -> None:
    """A Prometheus that is down is not asked by every request."""
    questions: list[int] = []

    def ask() -> Moment:
        questions.append(1)
        raise UnreachableError("prometheus-unreachable", "http://u:geheim1@p did not answer.", "Connection refused")

    latest = LatestMoment(ask, interval=60)
    for _ in range(3):
        with pytest.raises(Refusal) as excinfo:
            latest()
        assert (excinfo.value.status, excinfo.value.reference) == (503, "prometheus-unreachable")
        assert "Connection refused." in excinfo.value.reason
        assert "geheim1" not in excinfo.value.reason
    assert len(questions) == 1


def test_a_prometheus_without_gpus_has_answered() -> None:
    def ask() -> Moment:
        raise MissingDataError("gpu-no-series", "It has no metrics of GPUs.")

    with pytest.raises(Refusal) as excinfo:
        LatestMoment(ask, interval=60)()
    assert excinfo.value.status == 404


def test_nobody_waits_for_one_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prometheus is not asked a second time meanwhile; what it answers in the end is taken."""
    monkeypatch.setattr(latest, "WAIT_LIMIT", 0.05)
    gate, questions = threading.Event(), []

    def ask() -> Moment:
        questions.append(1)
        assert gate.wait(10)
        return FOUND_MOMENT

    latest_moment = LatestMoment(ask, interval=60)
    for _ in range(3):
        with pytest.raises(Refusal) as excinfo:
            latest_moment()
        assert (excinfo.value.status, excinfo.value.reference) == (503, "serve-late")
    monkeypatch.setattr(latest, "WAIT_LIMIT", 10)
    gate.set()
    assert latest_moment() is FOUND_MOMENT
    assert len(questions) == 1


def test_a_bug_is_no_refusal() -> None:
    def ask() -> Moment:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        LatestMoment(ask, interval=60)()
