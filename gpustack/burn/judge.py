"""Verdicts on GPUs under load. A value that is missing makes the verdict unknown, never passed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gpustack.burn.loads import Load
from gpustack.burn.output import Output, parse_output
from gpustack.burn.watch import GpuObservation
from gpustack.events import INTERRUPTION
from gpustack.exit_status import ExitStatus, select_status
from gpustack.proof.workload import PodResult, VisibleGpu
from gpustack.vocabulary.fields import strip_prefix

Outcome = Literal["passed", "failed", "unknown"]
WRONG_TESTER = 256 - 12
"""DCGM_ST_VER_MISMATCH (DCGM 4.6.0, dcgmlib/dcgm_structs.h) as a shell sees it: none is for the driver's CUDA."""
# A full load meets the power limit, and is slowed by it: that is as it should be.
BRAKES = ("hardware", "heat", "heat (hardware)", "power brake")
SAMPLES = 3
"""Fewer of these prove no GPU too weak: that of each edge has a share of the time without load."""
PEER_SHARE = 0.9
"""A GPU that counts less than this of the best of its model in the same run is slower than it should be; 10 % as in
gpu-fryer (huggingface/gpu-fryer, README.md)."""


@dataclass(frozen=True)
class BurnedGpu:
    """Hold the verdict on a GPU. `actual` is the highest value of the field in Prometheus, among `samples` values;
    `expected` is the least that is enough. `figure` is dcgmproftester's own count. `throttle_reasons` are None where
    they are not known."""

    node: str
    uuid: str
    model: str = ""
    bus: str = ""
    index: str = ""
    outcome: Outcome = "unknown"
    reasons: tuple[str, ...] = ()
    actual: float | None = None
    expected: float | None = None
    samples: int = 0
    figure: float | None = None
    temperature: float | None = None
    throttle_reasons: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Burn:
    """Hold the result of a load. `duration` is the time for which GPUs were to be loaded, `seconds` that of the whole
    run. `unread` has by node the reason why nothing is known of it, `lost_gpus` the GPUs that it lacks afterwards.
    `cleanup_error` names what could not be removed."""

    load: Load
    duration: int
    gpus: tuple[BurnedGpu, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    lost_gpus: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    stop_reason: str = ""
    cleanup_error: str = ""

    def count(self, outcome: Outcome) -> int:
        return sum(burned_gpu.outcome == outcome for burned_gpu in self.gpus)

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(
            interrupted=self.stop_reason == INTERRUPTION,
            differs=self.count("failed") or self.lost_gpus,
            unknown=self.unread or self.cleanup_error or self.count("unknown") or not self.gpus,
        )


def judge_gpus(
    load: Load, pods: Iterable[PodResult], observations: Mapping[str, GpuObservation], stop_reason: str, *, blind: bool
) -> tuple[BurnedGpu, ...]:
    """Judge all GPUs, each by itself and compared with its peers. With `blind`, heat and throttling need not be
    known."""
    burned_gpus = [judge_gpu(load, pod, observations, stop_reason, blind=blind) for pod in pods]
    return tuple(compare_peers(burned_gpus, load.figure))


def judge_gpu(
    load: Load, pod: PodResult, observations: Mapping[str, GpuObservation], stop_reason: str, *, blind: bool
) -> BurnedGpu:
    output = parse_output(pod.output, load.field.id)
    floor = load.compute_floor(output)
    visible = pod.gpus[0] if pod.gpus else VisibleGpu("")
    gpu = BurnedGpu(pod.node, visible.uuid, visible.model, visible.bus, figure=output.figure)
    gpu = replace(gpu, expected=floor[1] if floor else None)
    observation = observations.get(gpu.uuid)
    if observation:
        throttle_reasons = None if observation.throttle_reasons is None else tuple(sorted(observation.throttle_reasons))
        gpu = replace(
            gpu, actual=observation.highest_value, samples=len(observation.samples), throttle_reasons=throttle_reasons
        )
        gpu = replace(gpu, temperature=observation.temperature)
        if observation.gpu:
            gpu = replace(gpu, index=observation.gpu.index, model=observation.gpu.model or gpu.model)
    wrong = tuple(find_faults(load, output, gpu, floor, observation.hot if observation else ""))
    if wrong:
        return replace(gpu, outcome="failed", reasons=wrong)
    unsure = tuple(find_doubts(load, pod, output, gpu, floor, stop_reason, blind=blind))
    return replace(gpu, outcome="unknown" if unsure else "passed", reasons=unsure)


def find_faults(
    load: Load, output: Output, gpu: BurnedGpu, floor: tuple[float, float] | None, hot: str
) -> Iterable[str]:
    if hot:
        yield f"too hot: {hot}"
    if output.ending == "failed":
        yield f"dcgmproftester: {'; '.join(output.reasons)}"
    if output.figure == 0 or output.bandwidth_share == 0:
        yield "dcgmproftester put no load on it"
    if brakes := [word for word in gpu.throttle_reasons or () if word in BRAKES and not hot]:
        yield f"slowed down by {', '.join(brakes)}"
    if floor and gpu.actual is not None and gpu.samples >= SAMPLES and gpu.actual < floor[0]:
        yield f"{strip_prefix(load.field.name)} is too low"


def find_doubts(
    load: Load,
    pod: PodResult,
    output: Output,
    gpu: BurnedGpu,
    floor: tuple[float, float] | None,
    stop_reason: str,
    *,
    blind: bool,
) -> Iterable[str]:
    name = strip_prefix(load.field.name)
    if pod.code is None:
        yield pod.reason or f"it was stopped: {stop_reason or 'nobody says why'}"
        return
    if pod.code == WRONG_TESTER:
        yield "no dcgmproftester of this image is for the CUDA version of the driver"
    elif output.ending == "none" or pod.code:
        yield f"dcgmproftester ended with {pod.code}: {'; '.join(output.reasons) or 'it printed nothing'}"
    elif not output.ticks:
        yield "dcgmproftester says nothing of its load"
    if gpu.actual is None:
        yield f"Prometheus has no {name} of it from that time"
    elif floor is None:
        yield f"what {name} is to be is not known: dcgmproftester says nothing of its load"
    elif gpu.actual < floor[0]:
        yield f"{name} is too low, by {gpu.samples} samples only: load it for longer"
    elif gpu.actual < floor[1]:
        yield f"{name} is enough for some generations only, and dcgmproftester does not say which this is"
    if gpu.throttle_reasons is None and not blind:
        yield "whether it was slowed down is not known"


def compare_peers(gpus: Sequence[BurnedGpu], unit: str) -> Iterable[BurnedGpu]:
    best: dict[str, float] = {}
    for burned_gpu in gpus:
        if burned_gpu.figure is not None:
            best[burned_gpu.model] = max(burned_gpu.figure, best.get(burned_gpu.model, 0.0))
    for burned_gpu in gpus:
        slow = (
            burned_gpu.model
            and burned_gpu.figure is not None
            and burned_gpu.figure < best[burned_gpu.model] * PEER_SHARE
        )
        if not slow or burned_gpu.outcome == "unknown":
            yield burned_gpu
            continue
        comparison = f"{burned_gpu.figure:g} {unit}, and the best of its model {best[burned_gpu.model]:g}"
        yield replace(burned_gpu, outcome="failed", reasons=(*burned_gpu.reasons, comparison))
