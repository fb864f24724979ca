"""Xids that several nodes had within the same minutes: the cause is a job or the fabric, and no GPU of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpustack.health.gpu_signs import RECENT_XIDS
from gpustack.metrics.readings import Reading

if TYPE_CHECKING:
    from gpustack.probes.gpu.logs import XidLine

LEAST_NODES = 3
WINDOW_SECONDS = 300


@dataclass(frozen=True)
class Incident:
    """Describe an Xid that `nodes` had within five minutes: the last ones, over which the exporter counts, or any in
    the kernel logs."""

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
    shared_codes = {code: nodes for code, nodes in nodes_by_code.items() if len(nodes) >= LEAST_NODES}
    return tuple(Incident(code, tuple(sorted(nodes))) for code, nodes in sorted(shared_codes.items()))


def find_logged_incidents(lines_by_node: "Mapping[str, Iterable[XidLine]]") -> tuple[Incident, ...]:
    """Find the Xids that at least LEAST_NODES nodes logged within WINDOW_SECONDS. A node that had the Xid at another
    time as well is not among them."""
    points: dict[int, list[tuple[int, str]]] = {}
    for node, lines in lines_by_node.items():
        for line in lines:
            if line.age is not None:
                points.setdefault(line.code, []).append((line.age, node))
    incidents = []
    for code, entries in sorted(points.items()):
        shared_points = find_shared_points(sorted(entries))
        other_nodes = {node for age, node in entries if (age, node) not in shared_points}
        if nodes := {node for _, node in shared_points} - other_nodes:
            incidents.append(Incident(code, tuple(sorted(nodes))))
    return tuple(incidents)


def find_shared_points(entries: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
    """Find the entries, of ages in their order and nodes, that lie in a window with at least LEAST_NODES nodes."""
    shared_points: set[tuple[int, str]] = set()
    counts: Counter[str] = Counter()
    start = added_end = 0
    for end, (age, node) in enumerate(entries, start=1):
        counts[node] += 1
        while entries[start][0] < age - WINDOW_SECONDS:
            counts[entries[start][1]] -= 1
            start += 1
        if len(+counts) >= LEAST_NODES:
            added_end = max(start, added_end)
            shared_points.update(entries[added_end:end])
            added_end = end
    return shared_points


def merge_incidents(incidents: Iterable[Incident]) -> tuple[Incident, ...]:
    """Merge incidents with one Xid."""
    nodes_by_code: dict[int, set[str]] = {}
    for incident in incidents:
        nodes_by_code.setdefault(incident.xid, set()).update(incident.nodes)
    return tuple(Incident(code, tuple(sorted(nodes))) for code, nodes in sorted(nodes_by_code.items()))
