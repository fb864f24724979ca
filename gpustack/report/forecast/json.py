"""A forecast as one JSON document. Within a version fields are only ever added."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpustack.config.inventory import Inventory
from gpustack.forecast.pool import Forecast, Reason
from gpustack.report.document import render_result
from gpustack.report.renderings import FORECAST
from gpustack.report.schema import Document, Shape, TextOrNull, Time, take

DailyPeaks = Annotated[list[float | None], BeforeValidator(lambda days: [day.peak for day in days])]
BoundCount = Annotated[int, BeforeValidator(lambda days: sum(day.bound for day in days))]


class QuantilesShape(Shape):
    """Describe quantiles of GPUs over all paths."""

    p10: float
    p50: float
    p90: float


class FillsShape(Shape):
    """Describe after how many days demand reaches the limit. Day 1 begins at `end`; null is not within the horizon.
    Nine of ten paths reach it between `first_days` and `last_days`."""

    p90_days: int | None = take("p90")
    p50_days: int | None = take("p50")
    first_days: int | None = take("first")
    last_days: int | None = take("last")
    chance: float


class ScoreShape(Shape):
    """Describe the error of a model in the back-test."""

    method: str = take("model", "id")
    mase: float
    fold_count: int = take("folds")


class OutlookShape(Shape):
    """Describe what models predict. `at_lead` and `missing_gpu_count` are null where the history is too short."""

    methods: list[str] = take("models")
    horizon_days: int = take("horizon")
    fills: FillsShape
    at_lead: QuantilesShape | None
    missing_gpu_count: int | None = take("order")
    peaks: list[QuantilesShape]


class PoolShape(Shape):
    """Describe the forecast of a resource of nodes. `outlook` is null where there is no forecast; `obstacle` and
    `reason` say why, else they are null."""

    pool: str
    capacity: float | None
    limit: float | None
    begin: Time
    daily_peaks: DailyPeaks = take("days")
    lower_bound_count: BoundCount = take("days")
    full_day_count: int = take("full")
    scores: list[ScoreShape]
    outlook: OutlookShape | None
    obstacle: Reason | None = take("reason")
    reason: TextOrNull = take("message")
    notes: list[str]


class ForecastDocument(Document):
    """Describe the result of `gpustack capacity forecast`, from histories until `end`."""

    kind: Literal["gpustack/forecast/v1"] = Field("gpustack/forecast/v1", alias="schema")
    end: Time
    lead_days: int = take("terms", "lead")
    horizon_days: int = take("terms", "horizon")
    reserve_gpu_count: float = take("terms", "reserve")
    pools: list[PoolShape]


def render_json(forecast: Forecast, *, inventory: Inventory | None = None) -> str:
    return render_result(FORECAST, ForecastDocument, forecast, inventory)
