"""The number of each program that a build compiles, and an estimate of the time that the others still take."""

import os
import threading
import time
from collections.abc import Iterable
from dataclasses import replace

from gpustack.events import Event, Reporter
from gpustack_lab.bundle.cache import Part


class Progress:
    """Report each part with its number and an estimate of the time that is left.

    `parts` are those that are not in the cache, of which `together` are built at a time. Until the first one is built
    the estimate takes it that the processors have nothing else to do; then it has the pace of those that are built.
    """

    def __init__(self, parts: Iterable[Part], together: int, report: Reporter) -> None:
        self.remaining = {part.name: part.seconds for part in parts}
        self.count, self.together, self.report = len(self.remaining), together, report
        self.speed = float(len(os.sched_getaffinity(0)))  # seconds of processor time in a second
        self.built_work = self.built_time = 0.0
        self.start_times: dict[str, float] = {}
        self.guard = threading.Lock()

    def report_event(self, event: Event) -> None:
        """Report an event; that a part begins, with its number and the estimate."""
        with self.guard:
            if event.kind == "step" and event.subject in self.remaining:
                self.start_times[event.subject] = time.monotonic()
                estimate = f"about {max(round(self.estimate_seconds() / 60), 1)} min left"
                event = replace(event, message=f"compiling, {len(self.start_times)} of {self.count}, {estimate}")
            elif event.kind == "changed" and event.subject in self.remaining:
                self.built_work += self.remaining.pop(event.subject)
                self.built_time += event.seconds
                self.speed = self.together * self.built_work / max(self.built_time, 0.001) or self.speed
            self.report(event)

    def estimate_seconds(self) -> float:
        """Estimate how long it takes until all parts are built."""
        current_time = time.monotonic()
        begun_work = sum(
            min(work, (current_time - self.start_times.get(name, current_time)) * self.speed / self.together)
            for name, work in self.remaining.items()
        )
        return (sum(self.remaining.values()) - begun_work) / self.speed
