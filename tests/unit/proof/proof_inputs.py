"""Nodes, pods, series and panels that never were: two nodes with two GPUs each, all as it should be, and what differs
from that."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpustack.proof.chain import PanelComparison, Place, ProofAnswers, Row, judge
from gpustack.proof.prometheus import Sample, Scrape, Series
from gpustack.proof.workload import PodResult, VisibleGpu

TIME = 1_000_000.0
STEP = 15.0
MODEL = "NVIDIA H100 80GB HBM3"
# UUID, node, PCI address: the truth.
GPUS = tuple(
    (f"GPU-0000000{node}-0000-0000-0000-00000000000{index}", f"gpu{node}", f"0000:{65 + index}:00.0")
    for node in (1, 2)
    for index in (0, 1)
)
UUIDS = tuple(uuid for uuid, _, _ in GPUS)


def format_target(node: str) -> str:
    return f"nvidia-dcgm-exporter {node}:9400"


def place(node: str, **fields: object) -> Place:
    return replace(Place(node, 2, 2, 2, devices=2, model=MODEL), **fields)  # type: ignore[arg-type]


def build_pod(number: int) -> PodResult:
    uuid, node, bus = GPUS[number]
    return PodResult(f"proof-{number}", node, "held", ran=True, gpus=(VisibleGpu(uuid, bus, MODEL),))


def build_sample(number: int, **fields: object) -> Sample:
    uuid, node, bus = GPUS[number]
    owner = f"gpustack-proof/proof-{number}"
    proof_answers = Sample(uuid, node, bus, str(number % 2), MODEL, TIME - 4, 40.0 + number, owner, format_target(node))
    return replace(proof_answers, **fields)  # type: ignore[arg-type]


def build_series(samples: Sequence[Sample]) -> Series:
    scrapes = {format_target(node): Scrape(STEP) for node in ("gpu1", "gpu2")}
    return Series("DCGM_FI_DEV_GPU_TEMP", TIME, tuple(samples), scrapes)


def build_comparison(samples: Sequence[Sample]) -> PanelComparison:
    """Build the comparison of a panel that shows what Prometheus has."""
    return PanelComparison(
        {sample.uuid: (TIME - 5, sample.value) for sample in samples},
        {sample.uuid: sample.value for sample in samples},
    )


def make_answers(samples: Sequence[Sample] = (), pods: Sequence[PodResult] = (), **fields: object) -> ProofAnswers:
    """Make answers where all is well, but for what is given otherwise."""
    given_samples = tuple(samples) or tuple(build_sample(number) for number in range(4))
    results = tuple(pods) or tuple(build_pod(number) for number in range(4))
    proof_answers = ProofAnswers(
        (place("gpu1"), place("gpu2")), results, build_series(given_samples), build_comparison(given_samples)
    )
    return replace(proof_answers, **fields)  # type: ignore[arg-type]


def list_marks(rows: Sequence[Row]) -> list[str]:
    """Format rows as `gpu1 00 ooo`: node, end of the UUID, first letters of the three outcomes."""
    return [f"{row.node} {row.uuid[-2:] or '--'} {''.join(link.outcome[0] for _, link in row.links)}" for row in rows]


def judge_marks(proof_answers: ProofAnswers) -> list[str]:
    return list_marks(judge(proof_answers))


def build_refusal(verb: str, error: Exception) -> Callable[[str], None]:
    def refuse(call: str) -> None:
        if call == verb:
            raise error

    return refuse


class Clock:
    """Time passes when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def wait(self, seconds: float) -> None:
        self.seconds += seconds

    def read_time(self) -> float:
        return self.seconds
