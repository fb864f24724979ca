"""A verdict for people: what it is, the numbers, what speaks against it, what was ruled out, what to try."""

from collections.abc import Iterator

from gpustack.events import count
from gpustack.profile.analysis import Analysis
from gpustack.report.format import duration
from gpustack.report.terminal import Terminal

SHOWN = ("engine", "sm", "tensor", "dram", "pipe", "pcie", "nvlink", "power", "clock")
SURE = {"high": "surely", "medium": "probably", "low": "perhaps", "none": "not known"}


def analysis(console: Terminal, found: Analysis) -> None:
    for line in lines(found):
        console.print(console.clean(line))


def lines(found: Analysis) -> Iterator[str]:
    verdict, first = found.verdict, found.job.windows[0]
    gpus = count(len(found.job.windows), "GPU")
    of = f"{gpus} {first.gpu.model}".rstrip()
    yield f"{found.profile.what}: {of}, {duration(first.seconds)}, {first.samples} samples"
    yield ""
    yield f"{SURE[verdict.confidence]} {verdict.id}" if verdict.confidence != "none" else "no verdict"
    yield f"  {verdict.title}"
    for heading, texts in (
        ("because", verdict.reasons),
        ("also for it", verdict.support),
        ("against it", verdict.against),
        ("note", verdict.notes),
        ("try", verdict.advice),
    ):
        yield from (f"  {heading if not number else '':12} {text}" for number, text in enumerate(texts))
    if found.phases > 1:
        yield f"  {'note':12} The time has {found.phases} stretches that differ: choose one with --since."
    if verdict.second:
        yield f"  {'nearly':12} {verdict.second}"
    yield ""
    yield "ruled out"
    yield from (f"  {id:20} {why}" for id, why in verdict.ruled_out)
    yield ""
    means = dict(verdict.means)
    yield "means        " + ", ".join(f"{name} {means[name]:.2f}" for name in SHOWN if name in means)
