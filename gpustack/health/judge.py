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
    known = [sign for sign in signs if sign.verdict != "unknown"]
    faults = [sign for sign in known if sign.verdict != "ok" and sign.source != "proof"]
    heavy = [sign for sign in faults if find_rank(sign.verdict) > find_rank("unknown")]
    if len({sign.source for sign in heavy}) >= LEAST_SOURCES:
        return select_worst(sign.verdict for sign in heavy), ""
    if heavy:
        (source,) = {sign.source for sign in heavy}
        asked = select_worst(sign.verdict for sign in heavy)
        lighter = select_worst(("watch", *(sign.verdict for sign in faults if sign not in heavy)))
        return lighter, f"{asked} is asked for by {SOURCES[source]} alone, and a second source is needed"
    if faults:
        return select_worst(sign.verdict for sign in faults), ""
    spoken = sorted({sign.source for sign in known} - {"proof"})
    if len(spoken) < LEAST_SOURCES:
        names = " and ".join(SOURCES[source] for source in spoken) or "no source"
        return "unknown", f"{names} said something of its health, and two are needed"
    return select_worst(sign.verdict for sign in known), ""


def select_worst(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=find_rank, default="ok")
