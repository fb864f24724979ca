"""Stretches of a time in which a workload behaves alike: warm-up, and changes after it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from statistics import fmean

from gpustack.profile.limits import Limits
from gpustack.profile.window import GpuWindow, Job

STRETCH_SAMPLES = 10  # at least, in a stretch
ACTIVITY_CHANGE = 0.2  # of activity: less is the same stretch
ERROR_FACTOR = 5.0  # times the standard error of the difference
WARM_UP = 0.2  # the most of a time that a warm-up can be
WATCHED_QUANTITIES = ("engine", "tensor", "dram")
PAUSE_SECONDS, PAUSE_SAMPLES = 10.0, 3  # at least: a shorter rest is a wait for input
PAUSE_MOST = 0.5  # of the time: GPUs that rest for longer wait for work


def find_change_points(track: Sequence[float], first: int = 0) -> list[int]:
    """Find the indices at which another stretch begins, by halving where means differ most. Each stretch takes one
    pass."""
    count = len(track)
    sums, squares = list(accumulate(track, initial=0.0)), list(accumulate((x * x for x in track), initial=0.0))

    def compute_error(begin: int, end: int) -> float:
        """Compute the squared standard error of a mean."""
        number = end - begin
        mean = (sums[end] - sums[begin]) / number
        return max(0.0, (squares[end] - squares[begin]) / number - mean * mean) / number

    best, split = ACTIVITY_CHANGE, 0
    for place in range(STRETCH_SAMPLES, count - STRETCH_SAMPLES + 1):
        difference = abs(sums[place] / place - (sums[count] - sums[place]) / (count - place))
        if (
            difference > best
            and difference > ERROR_FACTOR * (compute_error(0, place) + compute_error(place, count)) ** 0.5
        ):
            best, split = difference, place
    if not split:
        return []
    return [*find_change_points(track[:split], first), first + split, *find_change_points(track[split:], first + split)]


def count_phases(window: GpuWindow) -> int:
    return 1 + max(
        (len(find_change_points(window.tracks[name])) for name in WATCHED_QUANTITIES if name in window.tracks),
        default=0,
    )


def split_stretches(job: Job) -> tuple[Job, ...]:
    """Split a job where one of its GPUs changes most often, into as many parts as `count_phases` counts."""
    tracks = [window.tracks[name] for window in job.windows for name in WATCHED_QUANTITIES if window.tracks.get(name)]
    if not tracks:
        return (job,)
    track, points = max(
        ((candidate, find_change_points(candidate)) for candidate in tracks), key=lambda pair: len(pair[1])
    )
    shares = [0.0, *(point / len(track) for point in points), 1.0]
    return tuple(cut_job(job, *ends) for ends in pairwise(shares))


def cut_window(window: GpuWindow, begin: float, end: float) -> GpuWindow:
    """Cut a window from one share of its time to another. Values that are only known of the whole, as throttling,
    stay."""
    tracks = {name: track[round(begin * len(track)) : round(end * len(track))] for name, track in window.tracks.items()}
    return replace(window, tracks=tracks, seconds=window.seconds * (end - begin))


def cut_warm_up(window: GpuWindow) -> GpuWindow:
    """Cut a window at the change with which work begins, where that is soon enough."""
    engine = window.tracks.get("engine", ())
    early_points = [index for index in find_change_points(engine) if index <= WARM_UP * len(engine)]
    begins = [index for index in early_points if fmean(engine[:index]) < fmean(engine[index:])]
    if not begins:
        return window
    index = begins[-1]
    tracks = {name: track[index:] for name, track in window.tracks.items()}
    return replace(window, tracks=tracks, seconds=window.seconds * (1 - index / len(engine)))


def find_pauses(job: Job, limits: Limits) -> list[tuple[float, float]]:
    """Find the times in which all GPUs rest, each as shares of the whole where it begins and ends. There are none where
    rest is most of the time."""
    tracks = [window.tracks.get("engine", ()) for window in job.windows]
    length = min(map(len, tracks))
    moments = zip(*(track[len(track) - length :] for track in tracks), strict=True)
    rests = [max(values) < limits.idle_engine for values in moments]
    edges = [0, *(index for index in range(1, length) if rests[index] != rests[index - 1]), length]
    pause_samples = max(PAUSE_SAMPLES, PAUSE_SECONDS / job.windows[0].interval)
    pauses = [
        (begin, end) for begin, end in pairwise(edges) if end > begin and rests[begin] and end - begin >= pause_samples
    ]
    if sum(end - begin for begin, end in pauses) > PAUSE_MOST * length:
        return []
    return [(begin / length, end / length) for begin, end in pauses]


def split_pauses(job: Job, pauses: Sequence[tuple[float, float]]) -> tuple[tuple[Job, bool], ...]:
    """Split a job at the edges of its pauses. Each part is with whether it is a pause."""
    edges = sorted({0.0, 1.0, *(edge for pause in pauses for edge in pause)})
    return tuple((cut_job(job, begin, end), (begin, end) in pauses) for begin, end in pairwise(edges))


def cut_job(job: Job, begin: float, end: float) -> Job:
    return replace(job, windows=tuple(cut_window(window, begin, end) for window in job.windows))


def join_jobs(jobs: Sequence[Job]) -> Job:
    """Join parts of one job, one after the other."""

    def join_windows(windows: Sequence[GpuWindow]) -> GpuWindow:
        tracks = {name: [value for window in windows for value in window.tracks[name]] for name in windows[0].tracks}
        return replace(windows[0], tracks=tracks, seconds=sum(window.seconds for window in windows))

    return replace(jobs[0], windows=tuple(map(join_windows, zip(*(job.windows for job in jobs), strict=True))))
