"""A verdict for people: the class, the reasons and objections, the numbers, what was ruled out, and what to try."""

from collections.abc import Iterator, Sequence

from gpustack.events import format_count
from gpustack.profile.analysis import Analysis, Stretch
from gpustack.profile.baseline import IdleComparison
from gpustack.profile.classify import Verdict
from gpustack.profile.usual import Usual
from gpustack.report.profile.values import format_value
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration

MEAN_NAMES = ("engine", "sm", "tensor", "dram", "pipe", "pcie", "nvlink", "power", "clock")
SHORT_MEAN_NAMES = ("engine", "tensor", "dram")
CONFIDENCE_TEXTS = {"high": "surely", "medium": "probably", "low": "perhaps", "none": "not known"}


def render_human(console: Terminal, analysis: Analysis) -> None:
    for line in list_lines(analysis):
        console.print(console.clean(line))


def list_lines(analysis: Analysis) -> Iterator[str]:
    verdict = analysis.verdict
    yield format_headline(analysis)
    yield ""
    yield f"{CONFIDENCE_TEXTS[verdict.confidence]} {verdict.id}" if verdict.confidence != "none" else "no verdict"
    yield f"  {verdict.title}"
    yield from list_headed_lines("because", verdict.reasons)
    yield from list_headed_lines("also for it", verdict.support)
    yield from list_headed_lines("against it", verdict.objections)
    yield from list_headed_lines("note", verdict.notes)
    yield from list_headed_lines("try", verdict.advice)
    yield from list_headed_lines("success", (verdict.success_criterion,))
    yield from list_headed_lines("nearly", (verdict.second,) if verdict.second else ())
    yield from list_headed_lines("over idle", tuple(map(format_over_idle, analysis.idle)))
    if analysis.stretches:
        yield ""
        yield "stretches that differ"
        yield from map(format_stretch, analysis.stretches)
    if analysis.usual:
        yield ""
        yield f"usual for {analysis.workload}"
        yield from (f"  {usual.name}: {describe_outliers(usual)}" for usual in analysis.usual)
    yield ""
    yield "ruled out"
    yield from (f"  {id:20} {reason}" for id, reason in verdict.ruled_out)
    yield ""
    yield f"means        {format_means(verdict)}"
    if analysis.profile.job.unmeasured_quantities:
        yield f"not measured {', '.join(analysis.profile.job.unmeasured_quantities)}"


def format_headline(analysis: Analysis) -> str:
    first, label = analysis.job.windows[0], f" ({analysis.profile.label})" if analysis.profile.label else ""
    gpu_names = f"{format_count(len(analysis.job.windows), 'GPU')} {first.gpu.model}".rstrip()
    cut = f", after {format_duration(analysis.warm_up)} of warm-up" if analysis.warm_up else ""
    samples = f"{format_count(first.samples, 'sample')}, one in {first.interval:.3g} s"
    return f"{analysis.profile.subject}{label}: {gpu_names}, {format_duration(first.seconds)}{cut}, {samples}"


def format_over_idle(idle_comparison: IdleComparison) -> str:
    value, idle = (format_value(mean, idle_comparison.unit) for mean in (idle_comparison.value, idle_comparison.idle))
    return f"{idle_comparison.name} {value}, {idle} when idle"


def list_headed_lines(heading: str, texts: Sequence[str]) -> Iterator[str]:
    yield from (f"  {heading if not number else '':12} {text}" for number, text in enumerate(texts))


def format_stretch(stretch: Stretch) -> str:
    time_range = f"{format_duration(stretch.begin)} to {format_duration(stretch.begin + stretch.seconds)}"
    return f"  {time_range:24} {stretch.verdict.id:20} {format_means(stretch.verdict, SHORT_MEAN_NAMES)}"


def describe_outliers(usual: Usual) -> str:
    return ", ".join(
        f"{name} {value:.2f}, usually {minimum:g} to {maximum:g}" for name, value, minimum, maximum in usual.outliers
    ) or ("as usual")


def format_means(verdict: Verdict, names: Sequence[str] = MEAN_NAMES) -> str:
    values = ((name, getattr(verdict.signals, name)) for name in names)
    return ", ".join(f"{name} {value:.2f}" for name, value in values if value is not None)
