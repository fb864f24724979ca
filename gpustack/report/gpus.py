"""How many GPUs the hosts have by their PCI bus, and how many of them pods can be given."""

from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.view import View
from gpustack.report.words import count
from gpustack.rollout.plan import Plan
from gpustack.steps.gpu_hosts import expected, gpu_nodes


@dataclass(frozen=True)
class Gpus:
    """`allocatable` counts what nodes offer as nvidia.com/gpu (replicas, where GPUs are shared); None where no node
    could be asked."""

    expected: int
    hosts: int
    allocatable: int | None


def counted(found: Plan) -> Gpus | None:
    """None where no host has a GPU, or none could be asked."""
    here = View(found.snapshot, CLUSTER)
    try:
        there = expected(here)
    except FactUnavailable:
        return None
    if not there:
        return None
    try:
        allocatable = sum(node.allocatable for node in gpu_nodes(here).values())
    except FactUnavailable:
        allocatable = None
    return Gpus(sum(there.values()), len(there), allocatable)


def told(found: Plan) -> str:
    """In one line; empty where there is nothing to tell."""
    gpus = counted(found)
    if gpus is None:
        return ""
    can = "allocatable cannot be told" if gpus.allocatable is None else f"{gpus.allocatable} allocatable"
    return f"{count(gpus.expected, 'GPU')} on {count(gpus.hosts, 'host')}, {can}"
