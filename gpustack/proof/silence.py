"""A silence in Alertmanager for the alerts that a test of GPUs, a pause of their profiling, or a reboot causes by
itself. Other alerts are not silenced. The silence ends by itself, even if gpustack is killed, and always some minutes
after what it is for: alerts fire on.

API v2: POST /api/v2/silences, which changes the silence of an `id` (prometheus/alertmanager api/v2/openapi.yaml).
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

Test = Literal["load", "diag", "pause", "reboot", "reset"]
LOAD_ALERTS = (
    *("GpuHwThermalSlowdown", "GpuSwThermalSlowdown", "GpuNearSlowdown", "GpuPowerBrake", "GpuPowerCapped"),
    *("GpuBelowBaseClocks", "GpuXidApplication"),
)
EXPECTED_ALERTS: Mapping[Test, tuple[str, ...]] = {
    "load": LOAD_ALERTS,
    # DCGM pauses its telemetry for a part of a diagnostic, and the exporter then has no series of any GPU (DCGM 4.6.0,
    # dcgmlib/dcgm_test_apis.h, dcgmPauseTelemetryForDiag).
    "diag": (*LOAD_ALERTS, "GpuLost", "GpuMetricsAbsent", "GpuFewerThanCapacity", "GpuProfilingMissing"),
    # Fields that are not read have no value, and every other alert that reads one is quiet without it.
    "pause": ("GpuProfilingMissing",),
    "reboot": ("GpuNodeDown", "GpuMetricsAbsent", "GpuCapacityGone", "GpuAllocatableBelowCapacity"),
    "reset": ("GpuMetricsAbsent", "GpuCapacityGone", "GpuAllocatableBelowCapacity"),
}
"""The alerts that each kind of test causes on healthy GPUs. GpuNearShutdown and other Xids are none of them. A drain
causes none."""
COMMENTS: Mapping[Test, str] = {
    "load": "gpustack tests these GPUs",
    "diag": "gpustack tests these GPUs",
    "pause": "gpustack paused the profiling of these GPUs",
    "reboot": "gpustack reboots these nodes",
    "reset": "gpustack resets GPUs of these nodes",
}
FIRES_ON = 960
"""Seconds for which the expected alerts fire on after all is well again: five minutes that their expressions look back,
ten of keep_firing_for, and one for a scrape and two evaluations."""


@contextmanager
def silence_alerts(run: Run, nodes: Sequence[str], seconds: float, test: Test) -> Iterator[None]:
    """Silence the alerts that a test causes on these nodes. A failure is recorded as a note, and raises no error."""
    with ExitStack() as stack:
        try:
            address, number = stack.enter_context(open_part("alertmanager", run.hosts, run.record))
            web = Web("Alertmanager", address, number)
            reason = stack.enter_context(silence(web, nodes, seconds, run.lock.holder, test))
        except GpustackError as error:
            reason = describe_cause(error)
        if reason:
            run.record(Event("note", "", f"alerts of the test are not silenced: {reason}"))
        yield


def leave_silence(run: Run, nodes: Sequence[str], seconds: float, test: Test) -> None:
    """Silence the alerts of a pause or a reset of so many seconds on these nodes. A failure is recorded as a note, and
    raises no error."""
    if reason := create_silence(run, nodes, seconds, test):
        run.record(Event("note", "", f"alerts of the {test} are not silenced: {reason}"))


def create_silence(run: Run, nodes: Sequence[str], seconds: float, test: Test) -> str:
    """Create a silence for the alerts of something of so many seconds on these nodes, which ends by itself. Return the
    reason where that failed, or an empty text."""
    try:
        with open_part("alertmanager", run.hosts, run.record) as (address, number):
            web = Web("Alertmanager", address, number)
            return start_silence(web, build_silence(nodes, seconds, run.lock.holder, test))[1]
    except GpustackError as error:
        return describe_cause(error)


def describe_cause(error: GpustackError) -> str:
    """Describe an error as a part of a sentence, without what proofs say of themselves."""
    return error.message.removesuffix(".").removesuffix("; nothing was created")


@contextmanager
def silence(web: Web, nodes: Sequence[str], seconds: float, creator: str, test: Test) -> Iterator[str]:
    """Silence the alerts of a test on these nodes, at the end for as long as they fire on. Yield the reason where that
    failed, or an empty text."""
    document = build_silence(nodes, seconds, creator, test)
    id, reason = start_silence(web, document)
    try:
        yield reason
    finally:
        if id:
            with suppress(NoAnswer):
                web.post("/api/v2/silences", {**document, "id": id, "endsAt": compute_end(datetime.now(UTC), 0)})


def start_silence(web: Web, document: Mapping[str, Any]) -> tuple[str, str]:
    """Start a silence. Return its id, and the reason where that failed; one of them is empty."""
    try:
        status, answer = web.post("/api/v2/silences", document)
        id = str(answer["silenceID"]) if status == 200 and isinstance(answer, dict) else ""
    except (NoAnswer, LookupError) as error:
        return "", str(error)
    return id, "" if id else f"Alertmanager refused the silence (HTTP {status}): {answer}"


def build_silence(nodes: Sequence[str], seconds: float, creator: str, test: Test) -> dict[str, Any]:
    start = datetime.now(UTC)
    matchers = {"node": map(re.escape, nodes), "alertname": EXPECTED_ALERTS[test]}
    return {
        "matchers": [
            {"name": name, "value": "|".join(values), "isRegex": True, "isEqual": True}
            for name, values in matchers.items()
        ],
        "startsAt": start.isoformat(),
        "endsAt": compute_end(start, seconds),
        "createdBy": creator,
        "comment": COMMENTS[test],
    }


def compute_end(start: datetime, seconds: float) -> str:
    """Compute the time until which alerts may fire that something of so many seconds causes."""
    return (start + timedelta(seconds=seconds + FIRES_ON)).isoformat()
