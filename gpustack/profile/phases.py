"""Stretches of a time in which a workload behaves alike: warm-up, and changes after it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from statistics import fmean

from gpustack.profile.window import GpuWindow, Job

LEAST = 10  # samples of a stretch
DIFFERENT = 0.2  # of activity: less is the same stretch
SURE = 5.0  # times the standard error of the difference
WARM_UP = 0.2  # the most of a time that a warm-up can be
WATCHED = ("engine", "tensor", "dram")


def change_points(track: Sequence[float], first: int = 0) -> list[int]:
    """Indices at which another stretch begins, by halving where means differ most. One pass for each stretch."""
    count = len(track)
    sums, squares = list(accumulate(track, initial=0.0)), list(accumulate((x * x for x in track), initial=0.0))

    def error_of(begin: int, end: int) -> float:
        """The squared standard error of a mean."""
        number = end - begin
        mean = (sums[end] - sums[begin]) / number
        return max(0.0, (squares[end] - squares[begin]) / number - mean * mean) / number

    best, at = DIFFERENT, 0
    for place in range(LEAST, count - LEAST + 1):
        difference = abs(sums[place] / place - (sums[count] - sums[place]) / (count - place))
        if difference > best and difference > SURE * (error_of(0, place) + error_of(place, count)) ** 0.5:
            best, at = difference, place
    if not at:
        return []
    return [*change_points(track[:at], first), first + at, *change_points(track[at:], first + at)]


def count_phases(window: GpuWindow) -> int:
    return 1 + max((len(change_points(window.tracks[name])) for name in WATCHED if name in window.tracks), default=0)


def stretches(job: Job) -> tuple[Job, ...]:
    """The job cut where one of its GPUs changes most often: as many as `count_phases` says."""
    tracks = [window.tracks[name] for window in job.windows for name in WATCHED if window.tracks.get(name)]
    if not tracks:
        return (job,)
    track, points = max(((one, change_points(one)) for one in tracks), key=lambda one: len(one[1]))
    shares = [0.0, *(point / len(track) for point in points), 1.0]
    return tuple(Job(tuple(part(window, *ends) for window in job.windows)) for ends in pairwise(shares))


def part(window: GpuWindow, begin: float, end: float) -> GpuWindow:
    """From one share of its time to another. What is only known of the whole, as slowing down, stays."""
    tracks = {name: track[round(begin * len(track)) : round(end * len(track))] for name, track in window.tracks.items()}
    return replace(window, tracks=tracks, seconds=window.seconds * (end - begin))


def without_warm_up(window: GpuWindow) -> GpuWindow:
    """From the change on with which work begins, where that is soon enough."""
    engine = window.tracks.get("engine", ())
    early = [at for at in change_points(engine) if at <= WARM_UP * len(engine)]
    begins = [at for at in early if fmean(engine[:at]) < fmean(engine[at:])]
    if not begins:
        return window
    at = begins[-1]
    kept = {name: track[at:] for name, track in window.tracks.items()}
    return replace(window, tracks=kept, seconds=window.seconds * (1 - at / len(engine)))
