"""Verdicts and comparisons of profiles as one HTML file with plots, for light and dark screens and for print."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment
from markupsafe import Markup, escape

from gpustack.config.inventory import Inventory
from gpustack.profile.analysis import Analysis
from gpustack.profile.compare import UNITS, Change, Comparison, build_track
from gpustack.profile.gate import GateResult, select_exit_status
from gpustack.profile.window import Job
from gpustack.report.hanging import TIED_SPACE
from gpustack.report.page import make_environment, render_plots
from gpustack.report.profile import comparison as words
from gpustack.report.profile.plot import Line, Plot
from gpustack.report.profile.text import (
    describe_outliers,
    format_headline,
    format_means,
    format_over_idle,
    format_verdict,
)
from gpustack.report.profile.values import format_percent
from gpustack.times import format_duration
from gpustack.vocabulary.amounts import format_value

# Titles of plots, and the quantities that share their axis.
PLOTS = {
    "Share of the time that parts of the GPU work": ("engine", "sm", "tensor", "dram"),
    "Share of the time that other pipes work": ("fp64", "fp32", "fp16"),
    "Power": ("power", "power_limit"),
    "PCIe": ("pcie_receive", "pcie_transmit"),
    "NVLink": ("nvlink_receive", "nvlink_transmit"),
    "SM clock": ("clock", "clock_max"),
    "Temperature": ("temperature",),
}
LABELS = {
    "sm": "SMs",
    "tensor": "tensor cores",
    "dram": "memory bandwidth",
    "fp64": "FP64",
    "fp32": "FP32",
    "fp16": "FP16",
    "power_limit": "limit",
    "clock": "SM clock",
    "clock_max": "maximum",
    "memory_used": "memory used",
    "pcie_receive": "PCIe, received",
    "pcie_transmit": "PCIe, sent",
    "nvlink_receive": "NVLink, received",
    "nvlink_transmit": "NVLink, sent",
}
"""Names of quantities in plots, where they differ from those of the profile."""
NOISE_FLOORS = {"ratio": 0.02, "bytes_per_second": 1e8}  # A quantity that is never above it is not drawn.
COLOUR_COUNT = 8  # in profile.css


def render_html(analysis: Analysis, *, inventory: Inventory | None = None) -> str:
    plots = [
        *build_plots(analysis.job, [stretch.begin for stretch in analysis.stretches][1:]),
        *build_gpu_plots(analysis.job),
    ]
    code = analysis.exit_status
    return render_plots(build_environment(), "profile.html.j2", inventory, analysis=analysis, plots=plots, code=code)


def render_comparison(comparison: Comparison, gates: Sequence[GateResult]) -> str:
    plots = [build_overlay(comparison, change) for change in comparison.changes if change.moved]
    code = select_exit_status(comparison, gates)
    return render_plots(
        build_environment(), "comparison.html.j2", None, comparison=comparison, plots=plots, gates=gates, code=code
    )


@cache
def build_environment() -> Environment:
    environment = make_environment()
    environment.globals |= {
        "format_headline": format_headline,
        "format_origin": format_origin,
        "format_summary": words.format_summary,
        "format_run_verdict": words.format_verdict,
        "format_verdict": format_verdict,
    }
    environment.filters |= {
        function.__name__: function
        for function in (
            describe_outliers,
            format_duration,
            format_means,
            format_over_idle,
            format_percent,
            format_value,
            label_quantity,
            bind_units,
        )
    }
    return environment


def bind_units(text: str) -> Markup:
    """Bind the numbers of a sentence of gpustack to their units, so that no line is broken between them."""
    return Markup(TIED_SPACE.sub("&nbsp;", str(escape(text))))  # noqa: S704 - escaped, and without words of hosts


def label_quantity(name: str) -> str:
    """Return the name of a quantity as plots have it."""
    return LABELS.get(name, name)


def format_origin(analysis: Analysis) -> str:
    """Format when and on which nodes the profile was recorded, and the drivers of its GPUs."""
    begin = f"{datetime.fromtimestamp(analysis.profile.begin, UTC):%Y-%m-%d %H:%M:%S} UTC"
    nodes = dict.fromkeys(window.gpu.node for window in analysis.job.windows)
    drivers = dict.fromkeys(window.gpu.driver or "unknown" for window in analysis.job.windows)
    return f"recorded {begin} on {', '.join(nodes)}, driver {', '.join(drivers)}"


def build_plots(job: Job, marks: Iterable[float]) -> Iterator[Plot]:
    """Build plots of the means of all GPUs at each moment."""
    for title, names in PLOTS.items():
        tracks = {name: track for name in names if (track := build_track(job, name))}
        unit = UNITS[names[0]]
        if any(max(track) > NOISE_FLOORS.get(unit, 0.0) for track in tracks.values()):
            lines = tuple(
                Line(label_quantity(name), track, number) for number, (name, track) in enumerate(tracks.items())
            )
            yield Plot(title, unit, job.windows[0].seconds, lines, tuple(marks))


def build_gpu_plots(job: Job) -> Iterator[Plot]:
    """Build a plot of the tensor cores of each GPU, which shows whether they work equally."""
    windows = [window for window in job.windows if window.tracks.get("tensor")]
    if len(windows) > 1:
        lines = (
            Line(f"{gpu_window.gpu.node} {gpu_window.gpu.index}", gpu_window.tracks["tensor"], number % COLOUR_COUNT)
            for number, gpu_window in enumerate(windows)
        )
        yield Plot("Tensor cores, each GPU", "ratio", windows[0].seconds, tuple(lines))


def build_overlay(comparison: Comparison, change: Change) -> Plot:
    runs = (("before", comparison.before), ("after", comparison.after))
    seconds = max(run.job.windows[0].seconds for _, run in runs)
    lines = (
        Line(word, build_track(run.job, change.name), number, run.job.windows[0].seconds / seconds)
        for number, (word, run) in enumerate(runs)
    )
    return Plot(label_quantity(change.name), change.unit, seconds, tuple(lines))
