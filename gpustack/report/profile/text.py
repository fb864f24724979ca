"""A verdict for people: what it is, the numbers, what speaks against it, what was ruled out, what to try."""

from collections.abc import Iterator, Sequence

from gpustack.events import count
from gpustack.profile.analysis import Analysis, Stretch
from gpustack.profile.baseline import Above
from gpustack.profile.classify import Verdict
from gpustack.profile.expected import Usual
from gpustack.report.format import duration
from gpustack.report.profile.values import shown
from gpustack.report.terminal import Terminal

SHOWN = ("engine", "sm", "tensor", "dram", "pipe", "pcie", "nvlink", "power", "clock")
SHORT = ("engine", "tensor", "dram")
SURE = {"high": "surely", "medium": "probably", "low": "perhaps", "none": "not known"}


def analysis(console: Terminal, found: Analysis) -> None:
    for line in lines(found):
        console.print(console.clean(line))


def lines(found: Analysis) -> Iterator[str]:
    verdict = found.verdict
    yield headline(found)
    yield ""
    yield f"{SURE[verdict.confidence]} {verdict.id}" if verdict.confidence != "none" else "no verdict"
    yield f"  {verdict.title}"
    yield from headed("because", verdict.reasons)
    yield from headed("also for it", verdict.support)
    yield from headed("against it", verdict.against)
    yield from headed("note", verdict.notes)
    yield from headed("try", verdict.advice)
    yield from headed("it helped if", (verdict.helped,))
    yield from headed("nearly", (verdict.second,) if verdict.second else ())
    yield from headed("over idle", tuple(map(over_idle, found.idle)))
    if found.stretches:
        yield ""
        yield "stretches that differ"
        yield from map(stretch, found.stretches)
    if found.usual:
        yield ""
        yield f"usual for {found.workload}"
        yield from (f"  {one.what}: {departures(one)}" for one in found.usual)
    yield ""
    yield "ruled out"
    yield from (f"  {id:20} {why}" for id, why in verdict.ruled_out)
    yield ""
    yield f"means        {means(verdict)}"
    if found.profile.job.unmeasured:
        yield f"not measured {', '.join(found.profile.job.unmeasured)}"


def headline(found: Analysis) -> str:
    first, label = found.job.windows[0], f" ({found.profile.label})" if found.profile.label else ""
    of = f"{count(len(found.job.windows), 'GPU')} {first.gpu.model}".rstrip()
    cut = f", after {duration(found.warm_up)} of warm-up" if found.warm_up else ""
    samples = f"{count(first.samples, 'sample')}, one in {first.every:.3g} s"
    return f"{found.profile.what}{label}: {of}, {duration(first.seconds)}{cut}, {samples}"


def over_idle(one: Above) -> str:
    return f"{one.name} {shown(one.value, one.unit)}, {shown(one.idle, one.unit)} when idle"


def headed(heading: str, texts: Sequence[str]) -> Iterator[str]:
    yield from (f"  {heading if not number else '':12} {text}" for number, text in enumerate(texts))


def stretch(one: Stretch) -> str:
    ends = f"{duration(one.begin)} to {duration(one.begin + one.seconds)}"
    return f"  {ends:24} {one.verdict.id:20} {means(one.verdict, SHORT)}"


def departures(one: Usual) -> str:
    return ", ".join(
        f"{name} {value:.2f}, usually {least:g} to {most:g}" for name, value, least, most in one.outside
    ) or ("as usual")


def means(verdict: Verdict, names: Sequence[str] = SHOWN) -> str:
    known = dict(verdict.means)
    return ", ".join(f"{name} {known[name]:.2f}" for name in names if name in known)
