"""Verdicts on GPUs from their signs, of which two sources have to agree before anything is reset or replaced."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpustack.health.sign import Sign, Source, Verdict, find_rank
from gpustack.metrics.gpus import Gpu, Owner

LEAST_SOURCES = 2
SOURCES: dict[Source, str] = {
    "driver": "the driver",
    "xid": "Xids",
    "dcgm": "DCGM's health watches",
    "kubelet": "the kubelet",
    "proof": "the record of the last proof",
}


@dataclass(frozen=True)
class GpuHealth:
    """Hold the verdict on a GPU. `signs` are those that are not ok, and else all; `reason` is a sentence
    where the verdict needs one. `time` is that of its newest value, None where it sends none."""

    gpu: Gpu
    owners: tuple[Owner, ...]
    verdict: Verdict
    reason: str
    signs: tuple[Sign, ...]
    time: float | None


def judge_signs(signs: Sequence[Sign]) -> tuple[Verdict, str]:
    """Judge signs of one GPU, and give the reason of a verdict that no sign has. What ends the work of a whole node
    needs LEAST_SOURCES sources; the strongest that they ask for counts. The proof says nothing of the health now."""
    known_signs = [sign for sign in signs if sign.verdict != "unknown"]
    faults = [sign for sign in known_signs if sign.verdict != "ok" and sign.source != "proof"]
    heavy_signs = [sign for sign in faults if find_rank(sign.verdict) > find_rank("unknown")]
    if len({sign.source for sign in heavy_signs}) >= LEAST_SOURCES:
        return select_worst(sign.verdict for sign in heavy_signs), ""
    if heavy_signs:
        (source,) = {sign.source for sign in heavy_signs}
        request = select_worst(sign.verdict for sign in heavy_signs)
        lighter_verdict = select_worst(("watch", *(sign.verdict for sign in faults if sign not in heavy_signs)))
        return lighter_verdict, f"{request} is asked for by {SOURCES[source]} alone, and a second source is needed"
    if faults:
        return select_worst(sign.verdict for sign in faults), ""
    known_sources = sorted({sign.source for sign in known_signs} - {"proof"})
    if len(known_sources) < LEAST_SOURCES:
        names = " and ".join(SOURCES[source] for source in known_sources) or "no source"
        return "unknown", f"{names} said something of its health, and two are needed"
    return select_worst(sign.verdict for sign in known_signs), ""


def select_worst(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=find_rank, default="ok")
