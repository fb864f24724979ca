"""Xids that several nodes had within the same minutes: the cause is a job or the fabric, and no GPU of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpustack.health.gpu_signs import RECENT_XIDS
from gpustack.metrics.readings import Reading

LEAST_NODES = 3


@dataclass(frozen=True)
class Incident:
    """Describe an Xid that `nodes` had within the last five minutes, the time that the exporter counts over."""

    xid: int
    nodes: tuple[str, ...]


def find_incidents(readings: Iterable[Reading]) -> tuple[Incident, ...]:
    """Find the Xids that at least LEAST_NODES nodes have in their exporters' counts."""
    nodes_by_code: dict[int, set[str]] = {}
    for reading in readings:
        if reading.field.name == RECENT_XIDS and reading.value > 0:
            for part in reading.part:
                if part.isdecimal() and int(part):
                    nodes_by_code.setdefault(int(part), set()).add(reading.gpu.node)
    shared = {code: nodes for code, nodes in nodes_by_code.items() if len(nodes) >= LEAST_NODES}
    return tuple(Incident(code, tuple(sorted(nodes))) for code, nodes in sorted(shared.items()))
