"""A silence in Alertmanager for what a test under load makes GPUs do: heat, brakes, errors of its own program. Alerts
of faults stay heard. It ends by itself, whatever becomes of us.

API v2: POST /api/v2/silences and DELETE /api/v2/silence/ID (prometheus/alertmanager api/v2/openapi.yaml).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from gpustack.proof.http import NoAnswer, Web

LOAD_ALERTS = ("GpuHwThermalSlowdown", "GpuSwThermalSlowdown", "GpuPowerBrake", "GpuXidApplication")


@contextmanager
def silence(web: Web, nodes: Sequence[str], seconds: float, who: str) -> Iterator[str]:
    """Yields why nothing is silenced, or an empty text."""
    id, why = "", ""
    try:
        status, answer = web.post("/api/v2/silences", build_silence(nodes, seconds, who))
        id = str(answer["silenceID"]) if status == 200 and isinstance(answer, dict) else ""
        why = "" if id else f"Alertmanager refused the silence (HTTP {status}): {answer}"
    except (NoAnswer, LookupError) as error:
        why = str(error)
    try:
        yield why
    finally:
        if id:
            with suppress(NoAnswer):
                web.ask("DELETE", f"/api/v2/silence/{id}")


def build_silence(nodes: Sequence[str], seconds: float, who: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    matchers = {"node": map(re.escape, nodes), "alertname": LOAD_ALERTS}
    return {
        "matchers": [
            {"name": name, "value": "|".join(values), "isRegex": True, "isEqual": True}
            for name, values in matchers.items()
        ],
        "startsAt": now.isoformat(),
        "endsAt": (now + timedelta(seconds=seconds)).isoformat(),
        "createdBy": who,
        "comment": "gpustack tests these GPUs under load",
    }
