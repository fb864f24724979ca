"""A verdict for people: the class, the reasons and objections, the numbers, what was ruled out, and what to try."""

from collections.abc import Iterator, Sequence

from gpustack.events import format_count
from gpustack.profile.analysis import Analysis
from gpustack.profile.baseline import IdleComparison
from gpustack.profile.classify import Verdict
from gpustack.profile.stretches import Stretch
from gpustack.profile.usual import Usual
from gpustack.report.hanging import Row, print_rows
from gpustack.report.profile.values import label_quantity
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration
from gpustack.vocabulary.amounts import format_value

MEAN_NAMES = (
    *("engine", "sm", "occupancy", "tensor", "dram", "pipe", "pcie", "nvlink", "power", "clock"),
    *("temperature", "memory_used"),
)
SHORT_MEAN_NAMES = ("engine", "tensor", "dram", "power")
HEADING_WIDTH, ID_WIDTH, TIME_WIDTH = 12, 20, 24


def render_human(console: Terminal, analysis: Analysis) -> None:
    print_rows(console, list_rows(analysis))


def list_rows(analysis: Analysis) -> Iterator[Row]:
    verdict = analysis.verdict
    yield Row(format_headline(analysis))
    yield Row()
    yield Row(format_verdict(verdict))
    yield Row(verdict.title, "  ")
    yield from list_headed_rows("because", verdict.reasons)
    yield from list_headed_rows("support", verdict.support)
    yield from list_headed_rows("against", verdict.objections)
    yield from list_headed_rows("note", verdict.notes)
    yield from list_headed_rows("try", verdict.advice)
    yield from list_headed_rows("afterwards", (verdict.success_criterion,) if verdict.advice else ())
    second = (verdict.second,) if verdict.second else ()
    yield from list_headed_rows("work" if verdict.is_overlay else "runner-up", second)
    yield from list_headed_rows("over idle", tuple(map(format_over_idle, analysis.idle)))
    yield from list_section("stretches that differ", map(build_stretch_row, analysis.stretches))
    usuals = (Row(f"{usual.name}: {describe_outliers(usual)}", "  ") for usual in analysis.usual)
    yield from list_section(f"usual for {analysis.workload}", usuals)
    yield from list_section("not excluded", map(build_class_row, verdict.alternatives))
    yield from list_section("ruled out", map(build_class_row, verdict.ruled_out))
    yield Row()
    yield Row(format_means(verdict), f"{'means':{HEADING_WIDTH}} ")
    if analysis.profile.job.unmeasured_quantities:
        yield Row(
            ", ".join(map(label_quantity, analysis.profile.job.unmeasured_quantities)),
            f"{'not measured':{HEADING_WIDTH}} ",
        )
    yield Row(f"gpustack explain {verdict.id}", f"{'more':{HEADING_WIDTH}} ")


def list_section(heading: str, rows: Iterator[Row]) -> Iterator[Row]:
    """List rows below a heading, or nothing where there are none."""
    for number, row in enumerate(rows):
        yield from (Row(), Row(heading)) if not number else ()
        yield row


def format_verdict(verdict: Verdict) -> str:
    if verdict.confidence == "none":
        return f"no verdict: {verdict.id}"
    return f"{verdict.id}, confidence: {verdict.confidence}"


def format_headline(analysis: Analysis) -> str:
    first, label = analysis.job.windows[0], f" ({analysis.profile.label})" if analysis.profile.label else ""
    gpu_names = f"{format_count(len(analysis.job.windows), 'GPU')} {first.gpu.model}".rstrip()
    cut = f", after {format_duration(analysis.warm_up)} of warm-up" if analysis.warm_up else ""
    samples = f"{format_count(first.samples, 'sample')}, one in {first.interval:.3g} s"
    return f"{analysis.profile.subject}{label}: {gpu_names}, {format_duration(first.seconds)}{cut}, {samples}"


def format_over_idle(idle_comparison: IdleComparison) -> str:
    value, idle = (format_value(mean, idle_comparison.unit) for mean in (idle_comparison.value, idle_comparison.idle))
    return f"{idle_comparison.name} {value}, {idle} when idle"


def list_headed_rows(heading: str, texts: Sequence[str]) -> Iterator[Row]:
    yield from (Row(text, f"  {heading if not number else '':{HEADING_WIDTH}} ") for number, text in enumerate(texts))


def build_class_row(pair: tuple[str, str]) -> Row:
    return Row(pair[1], f"  {pair[0]:{ID_WIDTH}} ")


def build_stretch_row(stretch: Stretch) -> Row:
    time_range = f"{format_duration(stretch.begin)} to {format_duration(stretch.begin + stretch.seconds)}"
    means = format_means(stretch.verdict, SHORT_MEAN_NAMES)
    return Row(means, f"  {time_range:{TIME_WIDTH}} {stretch.verdict.id:{ID_WIDTH}} ")


def describe_outliers(usual: Usual) -> str:
    return ", ".join(map(format_outlier, usual.outliers)) or "as usual"


def format_outlier(outlier: tuple[str, float, float, float]) -> str:
    name, *numbers = outlier
    unit = "celsius" if name == "temperature" else "ratio"
    value, minimum, maximum = (format_value(number, unit) for number in numbers)
    return f"{label_quantity(name)} {value}, usually {minimum} to {maximum}"


def format_means(verdict: Verdict, names: Sequence[str] = MEAN_NAMES) -> str:
    levels = ((label_quantity(name), verdict.signals.format_mean(name)) for name in names)
    return ", ".join(f"{label} {level}" for label, level in levels if level)
