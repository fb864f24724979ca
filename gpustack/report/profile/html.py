"""Verdicts and comparisons of profiles as one HTML file, with plots, in light, dark and print."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from jinja2 import Environment

from gpustack.config.inventory import Inventory
from gpustack.profile.analysis import Analysis
from gpustack.profile.compare import UNITS, Change, Comparison, track_of
from gpustack.profile.gate import Judged
from gpustack.profile.window import Job
from gpustack.report.codes import analysis_code, comparison_code
from gpustack.report.format import duration
from gpustack.report.page import make_environment, render_plots
from gpustack.report.profile import comparison as words
from gpustack.report.profile.plot import Line, Plot
from gpustack.report.profile.text import SHOWN, SURE, departures, headline, means, over_idle
from gpustack.report.profile.values import percent, shown

# Quantities that share an axis.
PLOTS = {
    "Share of the time that parts of the GPU work": ("engine", "sm", "tensor", "dram"),
    "Share of the time that other pipes work": ("fp64", "fp32", "fp16"),
    "Power": ("power", "power_limit"),
    "PCIe": ("pcie_receive", "pcie_transmit"),
    "NVLink": ("nvlink_receive", "nvlink_transmit"),
    "SM clock": ("clock", "clock_max"),
    "Temperature": ("temperature",),
}
NOTHING = {"ratio": 0.02, "bytes_per_second": 1e8}  # what is never above this is not drawn
LINES = 8  # colours there are


def text(found: Analysis, *, inventory: Inventory | None = None) -> str:
    plots = [*plots_of(found.job, [one.begin for one in found.stretches][1:]), *per_gpu(found.job)]
    code = analysis_code(found)
    return render_plots(environment(), "profile.html.j2", inventory, found=found, plots=plots, code=code)


def comparison(found: Comparison, gates: Sequence[Judged]) -> str:
    plots = [overlay(found, change) for change in found.changes if change.moved]
    code = comparison_code(found, gates)
    return render_plots(environment(), "comparison.html.j2", None, found=found, plots=plots, gates=gates, code=code)


@cache
def environment() -> Environment:
    made = make_environment()
    made.globals |= {"sure": SURE, "headline": headline, "names": SHOWN, "summary": words.summary}
    made.globals |= {"judged": words.judged, "units": UNITS}
    made.filters |= {"departures": departures, "means": means, "over_idle": over_idle}
    made.filters |= {"duration": duration, "percent": percent, "shown": shown}
    return made


def plots_of(job: Job, marks: Iterable[float]) -> Iterator[Plot]:
    """Means of the GPUs at each moment."""
    for title, names in PLOTS.items():
        tracks = {name: track for name in names if (track := track_of(job, name))}
        unit = UNITS[names[0]]
        if any(max(track) > NOTHING.get(unit, 0.0) for track in tracks.values()):
            lines = tuple(Line(name, track, number) for number, (name, track) in enumerate(tracks.items()))
            yield Plot(title, unit, job.windows[0].seconds, lines, tuple(marks))


def per_gpu(job: Job) -> Iterator[Plot]:
    """Whether they work equally."""
    windows = [window for window in job.windows if window.tracks.get("tensor")]
    if len(windows) > 1:
        lines = (
            Line(f"{one.gpu.node} {one.gpu.index}", one.tracks["tensor"], number % LINES)
            for number, one in enumerate(windows)
        )
        yield Plot("Tensor cores, each GPU", "ratio", windows[0].seconds, tuple(lines))


def overlay(found: Comparison, change: Change) -> Plot:
    runs = (("before", found.before), ("after", found.after))
    seconds = max(run.job.windows[0].seconds for _, run in runs)
    lines = (
        Line(word, track_of(run.job, change.name), number, run.job.windows[0].seconds / seconds)
        for number, (word, run) in enumerate(runs)
    )
    return Plot(change.name, change.unit, seconds, tuple(lines))
