"""Comparison of the GPUs of one job: those without work, those that differ, and GPUs that work in turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean, median, pvariance

from gpustack.profile.limits import Limits
from gpustack.profile.window import GpuWindow, Job
from gpustack.vocabulary.amounts import format_level

RESTING, WORKING = 0.2, 0.5  # engine of one sample: at most, and at least
SIGNIFICANT = 0.05  # shares below it are none
LIST_LIMIT = 3
SLOWDOWN = "time slowed"


@dataclass(frozen=True)
class Trait:
    """Describe what is compared: a possible cause of slowness, or with `is_effect` what follows from it. A GPU differs
    from the others by more than `share` of their value."""

    name: str
    unit: str
    read: Callable[[GpuWindow], float | None]
    share: float = 0.2
    reference: Callable[[GpuWindow], float | None] = lambda window: None
    is_effect: bool = False


def build_mean_reader(name: str) -> Callable[[GpuWindow], float | None]:
    return lambda window: window.compute_mean(name)


def compute_slowdown(window: GpuWindow) -> float | None:
    causes = ("hw_thermal", "power_brake", "sw_thermal")
    shares = [window.throttle_shares[cause] for cause in causes if cause in window.throttle_shares]
    return max(shares, default=None)


# Causes before effects: the first trait that differs explains the others.
TRAITS = (
    Trait(SLOWDOWN, "ratio", compute_slowdown),
    Trait("power limit", "watts", build_mean_reader("power_limit"), 0.1),
    Trait("clock", "hertz", build_mean_reader("clock"), 0.15, build_mean_reader("clock_max")),
    Trait("PCIe link", "bytes_per_second", lambda window: window.pcie_peak),
    Trait("tensor cores", "ratio", build_mean_reader("tensor"), is_effect=True),
    Trait("memory", "ratio", build_mean_reader("dram"), is_effect=True),
    Trait("SMs", "ratio", build_mean_reader("sm"), is_effect=True),
    Trait("power", "watts", build_mean_reader("power"), reference=build_mean_reader("power_limit"), is_effect=True),
)


@dataclass(frozen=True)
class Outlier:
    """Hold a GPU that differs from the others in a trait. `text` has its value and that of the others."""

    gpu: str
    trait: Trait
    deviation: float
    text: str


def name_gpus(job: Job, windows: Sequence[GpuWindow]) -> str:
    """Name GPUs by their index, with the node where there are several: `GPU 3`, `GPUs 1, 2 and 5`."""
    many_nodes = len({window.gpu.node for window in job.windows}) > 1
    names = [
        f"{window.gpu.node} " * many_nodes
        + ":".join(filter(None, (window.gpu.index or window.gpu.uuid, window.gpu.instance)))
        for window in windows
    ]
    listed_names = names if len(names) <= LIST_LIMIT + 1 else [*names[:LIST_LIMIT], f"{len(names) - LIST_LIMIT} more"]
    text = " and ".join(filter(None, (", ".join(listed_names[:-1]), listed_names[-1])))
    return f"GPU{'s' * (len(names) > 1)} {text}"


def list_unused(job: Job, limits: Limits) -> tuple[GpuWindow, ...]:
    """List the GPUs that do nothing."""

    def is_unused(window: GpuWindow) -> bool:
        tops = (
            (window.compute_percentile(name, 0.95), threshold)
            for name, threshold in (("engine", limits.idle_engine), ("sm", limits.idle_sm), ("dram", limits.idle_dram))
        )
        return all(top is not None and top < threshold for top, threshold in tops)

    return tuple(window for window in job.windows if is_unused(window))


def find_outliers(job: Job) -> tuple[Outlier, ...]:
    """Find the GPUs that differ from the median of the others, causes before effects. Of two GPUs the one that is
    slower by a cause is named; without a cause both would be."""
    outliers: list[Outlier] = []
    for trait in TRAITS:
        values = [trait.read(window) for window in job.windows]
        known_values = [value for value in values if value is not None]
        if len(known_values) < len(values) or len(values) < 2:
            continue
        for number, (window, value) in enumerate(zip(job.windows, known_values, strict=True)):
            middle = median([*known_values[:number], *known_values[number + 1 :]])
            difference = abs(value - middle)
            if difference <= trait.share * max(middle, value) or (trait.unit == "ratio" and difference < SIGNIFICANT):
                continue
            if len(known_values) == 2 and (value > middle) is (trait.name in ("power limit", "clock", "PCIe link")):
                continue
            reference = trait.reference(window)
            level, usual = format_level(value, reference, trait.unit), format_level(middle, None, trait.unit)
            text = f"{trait.name} {level} (the others {usual})"
            deviation = difference / (middle or value)
            outliers.append(Outlier(name_gpus(job, (window,)), trait, deviation, text))
    return tuple(outliers)


def choose_outliers(outliers: Sequence[Outlier]) -> tuple[Outlier, ...]:
    """Choose the GPUs that differ furthest in the first trait that tells any apart, each with its effect too."""
    candidates = [outlier for outlier in outliers if outlier.trait is outliers[0].trait]
    chosen_outliers = sorted(candidates, key=lambda outlier: -outlier.deviation)[:LIST_LIMIT]
    gpus = {outlier.gpu for outlier in chosen_outliers}
    effects = (
        outlier
        for outlier in outliers
        if outlier.trait.is_effect and outlier.gpu in gpus and outlier not in chosen_outliers
    )
    return (*chosen_outliers, *islice(effects, 1))


@dataclass(frozen=True)
class Turns:
    """Hold how GPUs take turns. `mixed_share` is the share of the moments at which a part of them rests while the rest
    works, `lost_share` the share of their time in which they rest. `evenness` compares the number of working GPUs with
    chance: 0 where it is always the same, 1 where each GPU rests for itself, more where all rest together."""

    mixed_share: float
    lost_share: float
    evenness: float


def compute_turns(job: Job) -> Turns | None:
    tracks = [window.tracks.get("engine", ()) for window in job.windows]
    length = min(map(len, tracks))
    if len(tracks) < 2 or not length or max(map(len, tracks)) - length > 2:
        return None
    work_tracks = [[value > RESTING for value in track[len(track) - length :]] for track in tracks]
    shares = [fmean(work_track) for work_track in work_tracks]
    counts = [sum(moment) for moment in zip(*work_tracks, strict=True)]
    chance = sum(share * (1 - share) for share in shares)
    mixed_share = fmean(0 < count < len(tracks) for count in counts)
    return Turns(mixed_share, 1 - fmean(shares), pvariance(counts) / chance if chance else 1.0)
