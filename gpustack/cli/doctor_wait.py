"""Waiting of `gpustack doctor` until no host is starting."""

import time
from collections.abc import Callable

from gpustack.doctor.finding import Diagnosis
from gpustack.events import Event, Reporter

LIMIT = 300.0
"""Seconds after which the hosts are diagnosed as they are."""
SHORTEST_PAUSE = 5.0


def diagnose_when_started(
    diagnose: Callable[[], Diagnosis], report: Reporter, pause: Callable[[float], None] = time.sleep
) -> Diagnosis:
    """Diagnose again until no host is starting, or LIMIT seconds have passed."""
    deadline = time.monotonic() + LIMIT
    while True:
        diagnosis = diagnose()
        starts = diagnosis.starts
        remaining_seconds = min(
            max((start.remaining_seconds for start in starts), default=0), deadline - time.monotonic()
        )
        if not starts or remaining_seconds <= 0:
            return diagnosis
        for start in starts:
            report(Event("waiting", start.location, f"{start}; it is asked again in {remaining_seconds:.0f} s"))
        pause(max(remaining_seconds, SHORTEST_PAUSE))
