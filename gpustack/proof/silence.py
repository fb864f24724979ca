"""A silence in Alertmanager for the alerts that a test of GPUs causes by itself. Other alerts are not silenced. The
silence ends by itself, even if gpustack is killed.

API v2: POST /api/v2/silences and DELETE /api/v2/silence/ID (prometheus/alertmanager api/v2/openapi.yaml).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from gpustack.errors import GpustackError
from gpustack.events import Event
from gpustack.proof.connect import open_part
from gpustack.proof.http import NoAnswer, Web
from gpustack.rollout.run import Run

Test = Literal["load", "diag"]
LOAD_ALERTS = (
    *("GpuHwThermalSlowdown", "GpuSwThermalSlowdown", "GpuNearSlowdown", "GpuPowerBrake", "GpuPowerCapped"),
    *("GpuBelowBaseClocks", "GpuXidApplication"),
)
EXPECTED_ALERTS: Mapping[Test, tuple[str, ...]] = {
    "load": LOAD_ALERTS,
    # DCGM pauses its telemetry for a part of a diagnostic, and the exporter then has no series of any GPU (DCGM 4.6.0,
    # dcgmlib/dcgm_test_apis.h, dcgmPauseTelemetryForDiag).
    "diag": (*LOAD_ALERTS, "GpuLost", "GpuMetricsAbsent", "GpuFewerThanCapacity", "GpuProfilingMissing"),
}
"""The alerts that each kind of test causes on healthy GPUs. GpuNearShutdown and other Xids are none of them."""


@contextmanager
def silence_alerts(run: Run, nodes: Sequence[str], seconds: float, test: Test) -> Iterator[None]:
    """Silence the alerts that a test causes on these nodes. A failure is recorded as a note, and raises no error."""
    with ExitStack() as stack:
        try:
            address, number = stack.enter_context(open_part("alertmanager", run.hosts, run.record))
            web = Web("Alertmanager", address, number)
            reason = stack.enter_context(silence(web, nodes, seconds, run.lock.holder, test))
        except GpustackError as error:
            reason = str(error)
        if reason:
            run.record(Event("note", "", f"alerts of the test are not silenced: {reason}"))
        yield


@contextmanager
def silence(web: Web, nodes: Sequence[str], seconds: float, creator: str, test: Test) -> Iterator[str]:
    """Silence the alerts of a test on these nodes, and delete the silence at the end. Yield the reason where that
    failed, or an empty text."""
    id, reason = "", ""
    try:
        status, answer = web.post("/api/v2/silences", build_silence(nodes, seconds, creator, test))
        id = str(answer["silenceID"]) if status == 200 and isinstance(answer, dict) else ""
        reason = "" if id else f"Alertmanager refused the silence (HTTP {status}): {answer}"
    except (NoAnswer, LookupError) as error:
        reason = str(error)
    try:
        yield reason
    finally:
        if id:
            with suppress(NoAnswer):
                web.ask("DELETE", f"/api/v2/silence/{id}")


def build_silence(nodes: Sequence[str], seconds: float, creator: str, test: Test) -> dict[str, Any]:
    start = datetime.now(UTC)
    matchers = {"node": map(re.escape, nodes), "alertname": EXPECTED_ALERTS[test]}
    return {
        "matchers": [
            {"name": name, "value": "|".join(values), "isRegex": True, "isEqual": True}
            for name, values in matchers.items()
        ],
        "startsAt": start.isoformat(),
        "endsAt": (start + timedelta(seconds=seconds)).isoformat(),
        "createdBy": creator,
        "comment": "gpustack tests these GPUs",
    }
