"""A forecast as one JSON document. A field is only ever added within a version."""

from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.forecast.pool import Forecast, PoolForecast, Reason
from gpustack.report.codes import FORECAST, forecast_code
from gpustack.report.document import document, ending
from gpustack.report.schema import Document, Shape, TextOrNull, Time, optional, take


class QuantilesShape(Shape):
    """GPUs: one of ten paths is below `p10`, nine are not above `p90`."""

    p10: float
    p50: float
    p90: float


class FillsShape(Shape):
    """Days until demand reaches the limit: 1 is the day that begins with `end`; null is not within the horizon. P90 of
    demand reaches it after `p90` days, P50 after `p50`; nine of ten paths do between `first` and `last`; `chance` is
    the share that does at all."""

    p90: int | None
    p50: int | None
    first: int | None
    last: int | None
    chance: float


class ScoreShape(Shape):
    """Errors of a model in the back-test, as a share of those of the seasonal naive forecast, in so many folds."""

    model: str = take("model", "id")
    mase: float
    folds: int


class OutlookShape(Shape):
    """What `models` predict for `horizon` days. `peaks`: of the highest hour of each day. `at_lead`: of the highest
    hour of the week that ends with the lead time; `order`: the GPUs that are missing then for its P90; both null where
    the history is too short for that."""

    models: list[str]
    horizon: int
    fills: FillsShape
    at_lead: QuantilesShape | None
    order: int | None
    peaks: list[QuantilesShape]


class PoolShape(Shape):
    """A resource of nodes. `limit`: the capacity less the reserve; null where it is not known. `days`: the highest hour
    of demand on each day of the history, null where too little is known; `bounds`: of these, how many are lower bounds,
    because all GPUs were taken and who waited is not known. `full`: how many of the last 14 days reached the limit.
    `outlook` is null where there is no forecast, for the `reason`, which `why` explains."""

    pool: str
    capacity: float | None
    limit: float | None
    begin: Time
    days: list[float | None]
    bounds: int
    full: int
    scores: list[ScoreShape]
    outlook: OutlookShape | None
    reason: Reason | None = optional("reason")
    why: TextOrNull
    notes: list[str]


class ForecastDocument(Document):
    """Result of `gpustack capacity forecast`, from histories until `end`. `lead` and `horizon` are days, `reserve` GPUs
    that are to stay free."""

    kind: Literal["gpustack/forecast/v1"] = Field("gpustack/forecast/v1", alias="schema")
    end: Time
    lead: int
    horizon: int
    reserve: float
    pools: list[PoolShape]


def text(found: Forecast, *, inventory: Inventory | None = None) -> str:
    values = {
        **vars(found.terms),
        "exit": ending(forecast_code(found), FORECAST),
        "end": moment(found.end),
        "pools": [select_pool(pool) for pool in found.pools],
    }
    return document(ForecastDocument, values, inventory)


def select_pool(pool: PoolForecast) -> dict[str, object]:
    days = [day.peak for day in pool.days]
    return {**vars(pool), "begin": moment(pool.begin), "days": days, "bounds": sum(day.bound for day in pool.days)}


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
