"""Whether a GPU did under load what is expected of it. What is not known is unknown, never passed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gpustack.gpus.burn.loads import Load
from gpustack.gpus.burn.output import Output, parse_output
from gpustack.gpus.burn.watch import Watched
from gpustack.metrics.fields import short

Outcome = Literal["passed", "failed", "unknown"]
WRONG_TESTER = 256 - 12
"""DCGM_ST_VER_MISMATCH (DCGM 4.6.0, dcgmlib/dcgm_structs.h) as a shell sees it: none is for the driver's CUDA."""
# A full load meets the power limit, and is slowed by it: that is as it should be.
BRAKES = ("hardware", "heat", "heat (hardware)", "power brake")
SAMPLES = 3
"""Fewer of these prove no GPU too weak: that of each edge has a share of the time without load."""
BEHIND = 0.9
"""A GPU that counts less than this of the best of its model in the same run is slower than it should be; 10 % as in
gpu-fryer (huggingface/gpu-fryer, README.md)."""


@dataclass(frozen=True)
class LoadedPod:
    """What became of a pod with a GPU. `code` is the tester's exit status, None where it did not end by itself; `why`
    says why it never ran, or did not end."""

    node: str
    uuid: str = ""
    model: str = ""
    bus: str = ""
    code: int | None = None
    output: str = ""
    why: str = ""


@dataclass(frozen=True)
class BurnedGpu:
    """`reached` is the highest value of the field that Prometheus has of it, of `samples`; `expected` the least that is
    enough. `figure` is what dcgmproftester counted. `slowed` is by what, None where that is not known."""

    node: str
    uuid: str
    model: str = ""
    bus: str = ""
    outcome: Outcome = "unknown"
    why: tuple[str, ...] = ()
    reached: float | None = None
    expected: float | None = None
    samples: int = 0
    figure: float | None = None
    temperature: float | None = None
    slowed: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Burn:
    """`duration` is how long GPUs were to be loaded, `seconds` how long all of it took. `unread` is, by node, why
    nothing is known of it, `lost` what it lacks afterwards. `left` could not be removed."""

    load: Load
    duration: int
    gpus: tuple[BurnedGpu, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    stopped: str = ""
    left: str = ""

    def count(self, outcome: Outcome) -> int:
        return sum(one.outcome == outcome for one in self.gpus)


def judge_gpus(
    load: Load, pods: Iterable[LoadedPod], watched: Mapping[str, Watched], stopped: str, *, blind: bool
) -> tuple[BurnedGpu, ...]:
    """`blind`: heat and what slows a GPU need not be known."""
    found = [judge_gpu(load, one, watched.get(one.uuid), stopped, blind=blind) for one in pods]
    return tuple(compare_peers(found, load.figure))


def judge_gpu(load: Load, pod: LoadedPod, watched: Watched | None, stopped: str, *, blind: bool) -> BurnedGpu:
    output = parse_output(pod.output, load.field.id)
    floor = load.floor(output)
    gpu = BurnedGpu(pod.node, pod.uuid, pod.model, pod.bus, figure=output.figure, expected=floor[1] if floor else None)
    if watched:
        slowed = None if watched.slowed is None else tuple(sorted(watched.slowed))
        gpu = replace(gpu, reached=watched.reached, samples=len(watched.samples), slowed=slowed)
        gpu = replace(gpu, temperature=watched.temperature, model=watched.model or pod.model)
    wrong = tuple(find_faults(load, output, gpu, floor, watched.hot if watched else ""))
    if wrong:
        return replace(gpu, outcome="failed", why=wrong)
    unsure = tuple(find_doubts(load, pod, output, gpu, floor, stopped, blind=blind))
    return replace(gpu, outcome="unknown" if unsure else "passed", why=unsure)


def find_faults(
    load: Load, output: Output, gpu: BurnedGpu, floor: tuple[float, float] | None, hot: str
) -> Iterable[str]:
    if hot:
        yield f"too hot: {hot}"
    if output.ending == "failed":
        yield f"dcgmproftester: {'; '.join(output.reasons)}"
    if output.figure == 0 or output.generated == 0:
        yield "dcgmproftester put no load on it"
    if brakes := [word for word in gpu.slowed or () if word in BRAKES and not hot]:
        yield f"slowed down by {', '.join(brakes)}"
    if floor and gpu.reached is not None and gpu.samples >= SAMPLES and gpu.reached < floor[0]:
        yield f"{short(load.field.name)} is too low"


def find_doubts(
    load: Load,
    pod: LoadedPod,
    output: Output,
    gpu: BurnedGpu,
    floor: tuple[float, float] | None,
    stopped: str,
    *,
    blind: bool,
) -> Iterable[str]:
    name = short(load.field.name)
    if pod.code is None:
        yield pod.why or f"it was stopped: {stopped or 'nobody says why'}"
        return
    if pod.code == WRONG_TESTER:
        yield "no dcgmproftester of this image is for the CUDA version of the driver"
    elif output.ending == "none" or pod.code:
        yield f"dcgmproftester ended with {pod.code}: {'; '.join(output.reasons) or 'it printed nothing'}"
    elif not output.ticks:
        yield "dcgmproftester says nothing of its load"
    if gpu.reached is None:
        yield f"Prometheus has no {name} of it from that time"
    elif floor is None:
        yield f"what {name} is to be is not known: dcgmproftester says nothing of its load"
    elif gpu.reached < floor[0]:
        yield f"{name} is too low, by {gpu.samples} samples only: load it for longer"
    elif gpu.reached < floor[1]:
        yield f"{name} is enough for some generations only, and dcgmproftester does not say which this is"
    if gpu.slowed is None and not blind:
        yield "whether it was slowed down is not known"


def compare_peers(gpus: Sequence[BurnedGpu], unit: str) -> Iterable[BurnedGpu]:
    best: dict[str, float] = {}
    for one in gpus:
        best[one.model] = max(one.figure or 0.0, best.get(one.model, 0.0))
    for one in gpus:
        slow = one.model and one.figure is not None and one.figure < best[one.model] * BEHIND
        if not slow or one.outcome == "unknown":
            yield one
            continue
        why = f"{one.figure:g} {unit}, and the best of its model {best[one.model]:g}"
        yield replace(one, outcome="failed", why=(*one.why, why))
