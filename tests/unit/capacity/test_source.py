"""A Prometheus without the needed series is refused."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from gpustack.capacity.source import choose_source
from gpustack.capacity.window import Window
from gpustack.errors import MissingDataError
from gpustack.metrics.prometheus import Series


@dataclass
class Young:
    """A young Prometheus has current samples, and none of a time before."""

    series: tuple[Series, ...]
    access: Any = field(default_factory=lambda: SimpleNamespace(url="http://p"))

    def query_instant(self, expr: str, time: float | None = None) -> tuple[Series, ...]:
        return self.series if time is None else ()


@pytest.mark.parametrize(
    ("series", "reference", "reason"),
    [
        ((), "capacity-no-requests", "no kube-state-metrics is scraped"),
        ((Series({}, ((0.0, 2.0),)),), "capacity-no-hour", "ask again at 1970-01-01 02:00 UTC"),
    ],
)
def test_a_young_cluster_is_not_one_without_kube_state_metrics(
    series: tuple[Series, ...], reference: str, reason: str
) -> None:
    with pytest.raises(MissingDataError) as excinfo:
        choose_source(Young(series), Window(0, 3600), "team", "")  # type: ignore[arg-type]
    assert excinfo.value.reference == reference
    assert reason in excinfo.value.reason
