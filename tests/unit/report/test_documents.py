"""Values of JSON documents: numbers, times, and what is unknown."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from gpustack.engines.listings import Listing
from gpustack.report.gpus import activity as gpu_activity
from gpustack.report.gpus import engines as gpu_engines
from gpustack.report.gpus import json as gpus_json
from gpustack.report.gpus import metrics as gpu_metrics
from gpustack.report.json import select_host
from gpustack.report.schema import Evidence, format_rfc3339
from tests.unit.report import engine_results
from tests.worlds.prometheus import gpu_series
from tests.worlds.results import plans

CEST = timezone(timedelta(hours=2))
MOMENT = datetime(2026, 11, 20, 12, 0, 0, 123456, UTC)


def test_a_small_ratio_is_not_rounded_to_zero() -> None:
    activity = gpu_series.make_activity(gpu_series.build_gpu_series("gpu1", 0, PROF_SM_ACTIVE=0.0004))
    (gpu,) = json.loads(gpu_activity.render_json(activity))["gpus"]
    assert gpu["sm_ratio"] == 0.0004


def test_durations_are_rounded_to_milliseconds() -> None:
    values = {
        "location": "kube1",
        "probe": "p",
        "command": "c",
        "rc": 0,
        "stdout": "",
        "stderr": "",
        "truncated": False,
    }
    assert Evidence.model_validate({**values, "seconds": 0.6420004, "reason": ""}).seconds == 0.642


@pytest.mark.parametrize(
    "time",
    [MOMENT, MOMENT.astimezone(timezone(timedelta(hours=2))), MOMENT.timestamp()],
    ids=["utc", "offset", "number"],
)
def test_times_are_in_utc_with_z(time: datetime | float) -> None:
    assert format_rfc3339(time) == "2026-11-20T12:00:00.123Z"


def test_a_time_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without a time zone"):
        format_rfc3339(datetime(2026, 11, 20))  # noqa: DTZ001


def test_a_host_that_was_not_contacted_is_unknown() -> None:
    snapshot = plans.make_bare_plan().snapshot
    assert select_host(snapshot, "other", "10.0.0.9")["unreachable"] is None
    assert select_host(snapshot, snapshot.inventory.hosts[0].name, "")["unreachable"] is False


LISTINGS: dict[str, Callable[[], str]] = {
    "gpu list": lambda: gpus_json.render_json(gpu_series.make_mixed_fleet()),
    "gpu metrics": lambda: gpu_metrics.render_json(gpu_series.make_metrics()),
    "gpu top": lambda: gpu_activity.render_json(gpu_series.make_working_gpus()),
    "gpu group list": lambda: gpu_engines.render_json(Listing("groups", (), {}, engine_results.POLICIES.temporary)),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_ends_with_listed(name: str) -> None:
    assert json.loads(LISTINGS[name]())["exit"] == {"code": 0, "meaning": "listed"}
