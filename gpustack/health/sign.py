"""Signs of the health of one GPU, each from one source, and the verdicts in the order of what they cost."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "watch", "restart-app", "unknown", "reset", "reboot", "replace"]
Source = Literal["driver", "xid", "dcgm", "kubelet", "proof"]
VERDICTS: tuple[Verdict, ...] = ("ok", "watch", "restart-app", "unknown", "reset", "reboot", "replace")
"""The verdicts from the least to the most. Of a node the last one of its GPUs counts."""
MEANINGS: dict[Verdict, str] = {
    "ok": "Two sources were read, and none names a fault.",
    "watch": "One source names a fault, or several that ask for nothing now.",
    "restart-app": "The program that used the GPU has to be started again.",
    "unknown": "Fewer than two sources said something about the GPU, or what they said is old.",
    "reset": "Drain the node and reset the GPU.",
    "reboot": "Drain the node and reboot the host.",
    "replace": "Take the GPU out of service and ask the vendor to replace it.",
}


@dataclass(frozen=True)
class Sign:
    """Hold what a source says about a GPU. `verdict` is what the source asks for, `ok` where it names no fault, and
    `unknown` where it says that it does not know.
    `message` is a sentence without its full stop. `xid` is the code of an Xid, None of anything else."""

    source: Source
    verdict: Verdict
    message: str = ""
    xid: int | None = None


def find_rank(verdict: Verdict) -> int:
    return VERDICTS.index(verdict)
