import pytest

from gpustack.errors import MissingDataError
from gpustack.gpus.series import list_metrics
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.web import Access
from gpustack.report.gpus.metrics import format_number, format_range, select_unit

NAMES = {
    "DCGM_FI_DEV_FB_USED": (8, 0, 81000),
    "DCGM_FI_DEV_MEMORY_TEMP": (8, 40, 9223372036854775794),
    "DCGM_FI_DEV_XID_ERRORS": (1, 79, 79),
    "DCGM_FI_DEV_GPU_UTIL_RATIO": (8, 0, 1),
    "DCGM_FI_DEV_OF_TOMORROW": (8, 1, 2),
}


@pytest.fixture
def prometheus(monkeypatch: pytest.MonkeyPatch) -> Prometheus:
    def answer(self: Prometheus, expr: str, time: float | None = None) -> tuple[Series, ...]:
        place = ("count", "min", "max").index(expr.partition(" ")[0])
        series = [Series({"__name__": name}, ((1000.0, float(value[place])),)) for name, value in NAMES.items()]
        return tuple(series)

    monkeypatch.setattr(Prometheus, "query_instant", answer)
    monkeypatch.setattr(Prometheus, "fetch_help_texts", lambda self, metric: ())
    return Prometheus(Access("http://prometheus.example.org"))


def test_metrics_have_units_and_bounds(prometheus: Prometheus) -> None:
    metrics = {metric.name: metric for metric in list_metrics(prometheus).metrics}
    used_memory = metrics["DCGM_FI_DEV_FB_USED"]
    assert (used_memory.series, used_memory.unit, used_memory.minimum, used_memory.maximum) == (
        8,
        "bytes",
        0,
        81000 * 2**20,
    )
    assert (format_range(used_memory), select_unit(used_memory)) == ("0 to 84.9 G", "bytes")
    assert select_unit(metrics["DCGM_FI_DEV_XID_ERRORS"]) == "Xid code"


def test_a_blank_value_is_no_bound(prometheus: Prometheus) -> None:
    metrics = {metric.name: metric for metric in list_metrics(prometheus).metrics}
    assert metrics["DCGM_FI_DEV_MEMORY_TEMP"].maximum is None
    assert format_range(metrics["DCGM_FI_DEV_MEMORY_TEMP"]) == "-"


def test_what_is_not_known_is_named_without_numbers(prometheus: Prometheus) -> None:
    metrics = list_metrics(prometheus)
    assert metrics.doubts == (
        "DCGM_FI_DEV_GPU_UTIL_RATIO: its unit is not proven by what the exporter says",
        "DCGM_FI_DEV_OF_TOMORROW: not known here",
    )
    assert [(metric.minimum, metric.unit) for metric in metrics.metrics if metric.field is None] == [
        (None, ""),
        (None, ""),
    ]


def test_without_any_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prometheus, "query_instant", lambda *_: ())
    with pytest.raises(MissingDataError) as excinfo:
        list_metrics(Prometheus(Access("http://prometheus.example.org")))
    assert excinfo.value.reference == "gpu-no-series"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.25, "0.25"), (999, "999"), (1980e6, "1.98 G"), (-2, "-2"), (61800, "61.8 k")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert format_number(value) == text
