"""Processes of a pod at work on its GPUs: spans in which kernels run, with the share of the time that the engine
is busy. Outside of them nothing runs at all.

Traps: a container restarts and its GPUs are kept without a process; images are pulled and data loaded while the GPUs
are already allocated; a service does nothing at night; a notebook works for minutes a day.
"""

import random
from collections.abc import Callable, Iterator

from tests.worlds.life.clock import DAY, HOUR, MINUTE, Span, stream, subtract_spans
from tests.worlds.life.pod import Pod

Work = tuple[float, float, float]
"""Begin, end, engine: 0.08 to 1."""


def draw_turns(rng: random.Random, begin: float, end: float, work: Span, pause: Span, level: Span) -> Iterator[Work]:
    """Work and pauses in turn, their lengths in minutes; it begins with a pause."""
    moment, chance = begin, rng.random
    while moment < end:
        moment += int((pause[0] + (pause[1] - pause[0]) * chance()) * MINUTE)
        stop = min(end, moment + int((work[0] + (work[1] - work[0]) * chance()) * MINUTE))
        if moment < stop:
            yield moment, stop, round(level[0] + (level[1] - level[0]) * chance(), 2)
        moment = stop


def draw_training(rng: random.Random, begin: float, end: float) -> Iterator[Work]:
    return draw_turns(rng, begin, end, (30, 240), (2, 15), (0.6, 0.99))


def draw_sweep(rng: random.Random, begin: float, end: float) -> Iterator[Work]:
    return draw_turns(rng, begin, end, (20, 60), (1, 3), (0.3, 0.95))


def draw_notebook(rng: random.Random, begin: float, end: float) -> Iterator[Work]:
    return draw_turns(rng, begin, end, (3, 40), (30, 480), (0.2, 0.9))


def serve(rng: random.Random, begin: float, end: float) -> Iterator[Work]:
    """Serve with a load that follows the day, changed every hour."""
    peak, sleeps = rng.uniform(0.15, 0.7), rng.random() < 0.5
    moment = begin
    while moment < end:
        stop = min(end, (moment // HOUR + 1) * HOUR)
        hour = moment % DAY // HOUR
        night = hour < 6 or hour >= 22
        if not (night and sleeps):
            yield moment, stop, round(max(0.08, peak * (0.3 if night else rng.uniform(0.7, 1.0))), 2)
        moment = stop


def sleep(_: random.Random, begin: float, end: float) -> Iterator[Work]:
    del begin, end
    return iter(())


WORK: dict[str, Callable[[random.Random, float, float], Iterator[Work]]] = {
    "train": draw_training, "sweep": draw_sweep, "notebook": draw_notebook, "serve": serve, "sleep": sleep,
}  # fmt: skip


def draw_restarts(seed: int, pod: Pod, end: float) -> list[Span]:
    """Spans without a process, in the order of time; of one pod in ten."""
    rng, last = stream(seed, "restarts", pod.uid), min(pod.end, end)
    if rng.random() > 0.1:
        return []
    begins = sorted(int(pod.start + rng.random() * pod.seconds) for _ in range(rng.randint(1, 3)))
    spans: list[Span] = []
    for begin in begins:
        first = max(begin, spans[-1][1] + MINUTE if spans else begin)
        spans.append((first, first + rng.randint(10, 300)))
    return [(first, min(stop, last)) for first, stop in spans if first < last]


def draw_work(seed: int, pod: Pod, end: float) -> list[Work]:
    """Draw the work of each GPU that a pod uses, until the pod or the life ends."""
    last = min(pod.end, end)
    if pod.start >= last or not pod.used_units:
        return []
    works = WORK[pod.kind](stream(seed, "work", pod.uid), pod.start, last)
    holes = draw_restarts(seed, pod, end)
    if not holes:
        return list(works)
    return [(first, stop, level) for begin, end, level in works for first, stop in subtract_spans(begin, end, holes)]
