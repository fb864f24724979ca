"""A silence in Alertmanager for the alerts that a load test causes: heat, throttling and errors of the test program.
Other alerts are not silenced. The silence ends by itself, even if gpustack is killed.

API v2: POST /api/v2/silences and DELETE /api/v2/silence/ID (prometheus/alertmanager api/v2/openapi.yaml).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from gpustack.errors import GpustackError
from gpustack.events import Event
from gpustack.proof.connect import open_part
from gpustack.proof.http import NoAnswer, Web
from gpustack.rollout.run import Run

LOAD_ALERTS = ("GpuHwThermalSlowdown", "GpuSwThermalSlowdown", "GpuPowerBrake", "GpuXidApplication")


@contextmanager
def silence_load(run: Run, nodes: Sequence[str], seconds: float) -> Iterator[None]:
    """Silence the alerts of load on these nodes. A failure is recorded as a note, and raises no error."""
    with ExitStack() as stack:
        try:
            address, number = stack.enter_context(open_part("alertmanager", run.hosts, run.record))
            web = Web("Alertmanager", address, number)
            reason = stack.enter_context(silence(web, nodes, seconds, run.lock.holder))
        except GpustackError as error:
            reason = str(error)
        if reason:
            run.record(Event("note", "", f"alerts of load are not silenced: {reason}"))
        yield


@contextmanager
def silence(web: Web, nodes: Sequence[str], seconds: float, creator: str) -> Iterator[str]:
    """Silence the alerts of load on these nodes, and delete the silence at the end. Yield the reason where that failed,
    or an empty text."""
    id, reason = "", ""
    try:
        status, answer = web.post("/api/v2/silences", build_silence(nodes, seconds, creator))
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


def build_silence(nodes: Sequence[str], seconds: float, creator: str) -> dict[str, Any]:
    start = datetime.now(UTC)
    matchers = {"node": map(re.escape, nodes), "alertname": LOAD_ALERTS}
    return {
        "matchers": [
            {"name": name, "value": "|".join(values), "isRegex": True, "isEqual": True}
            for name, values in matchers.items()
        ],
        "startsAt": start.isoformat(),
        "endsAt": (start + timedelta(seconds=seconds)).isoformat(),
        "createdBy": creator,
        "comment": "gpustack tests these GPUs under load",
    }
