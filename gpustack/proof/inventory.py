"""What is asked before a proof, in one round: nodes, their pods, the hosts' NVIDIA devices, the Services."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.errors import UnreachableError
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.proof import EXPORTERS, NODES, PODS, SERVICES, GpuPod, ProofNode
from gpustack.process import is_dead
from gpustack.proof.chain import Place
from gpustack.steps.gpu.count import gpu_count

PROBES: tuple[Probe[Any], ...] = (NODES, PODS, EXPORTERS, SERVICES, GPU_DEVICES, IDENTITY)


def survey(taken: Snapshot, names: Sequence[str]) -> tuple[tuple[Place, ...], tuple[tuple[str, str], ...]]:
    """Where pods are to be made, and hosts that cannot be proven, each with the reason. Raises UnreachableError."""
    try:
        return find_places(taken, names), find_unasked(taken, names)
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer; nothing was created."
        raise UnreachableError("proof-no-api", message, str(error), Command("gpustack", "verify")) from error


def match_hosts(taken: Snapshot) -> dict[str, str]:
    """Host by node: those with the same machine-id, else those of the same name."""
    found = View(taken, CLUSTER)
    machines = {found.on(host.name)[IDENTITY].machine_id: host.name for host in hosts_with(taken, IDENTITY)}
    known = {host.name for host in taken.inventory.hosts}
    return {
        node.name: machines.get(node.machine_id) or (node.name if node.name in known else "") for node in found[NODES]
    }


def hosts_with(taken: Snapshot, probe: Probe[Any]) -> list[Any]:
    return [host for host in taken.inventory.hosts if View(taken, host.name).available(probe)]


def find_places(taken: Snapshot, names: Sequence[str] = ()) -> tuple[Place, ...]:
    """Of nodes that offer GPUs, or whose host has some; `names` are hosts. Raises FactUnavailable."""
    here, of = View(taken, CLUSTER), match_hosts(taken)
    pods = here[PODS]
    used = count_used(pods)
    found = [make_place(node, used.get(node.name, 0), count_devices(taken, of[node.name])) for node in here[NODES]]
    wanted = [one for one in found if not names or of[one.node] in names]
    return tuple(one for one in wanted if one.capacity or one.devices or one.gpus is None)


def count_used(pods: Sequence[GpuPod]) -> Mapping[str, int]:
    """GPUs in use by node. What a gpustack that has ended left is removed before pods are made."""
    found: dict[str, int] = {}
    for pod in pods:
        if pod.node and not is_dead(pod.process):
            found[pod.node] = found.get(pod.node, 0) + pod.gpus
    return found


def count_devices(taken: Snapshot, host: str) -> int | None:
    try:
        return gpu_count(View(taken, host)) if host else None
    except FactUnavailable:
        return None


def make_place(node: ProofNode, busy: int, found: int | None) -> Place:
    closed = ""
    if not node.ready:
        closed = f"the node is not Ready: {node.reason}"
    elif node.cordoned:
        closed = "the node is cordoned: it takes no new pods"
    return Place(
        node.name, node.gpus, node.capacity, node.allocatable, busy, found, node.replicas, node.product, closed
    )


def find_unasked(taken: Snapshot, names: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """Hosts that are to be proven and cannot be: whether they have GPUs is not known, or no node offers them."""
    nodes = set(match_hosts(taken).values())
    found = []
    for host in taken.inventory.hosts:
        reach = taken.reach.get(host.name)
        if (names and host.name not in names) or host.name in nodes:
            continue
        if reach is not None and not reach.reached:
            found.append((host.name, f"not reached: {reach.why}"))
        elif count_devices(taken, host.name) is None:
            found.append((host.name, "whether it has NVIDIA devices is not known"))
        elif number := count_devices(taken, host.name):
            found.append((host.name, f"it has {number} NVIDIA devices, and is no node of the cluster"))
    return tuple(found)


def locate_exporters(taken: Snapshot) -> Mapping[str, str]:
    """Where each exporter's pod runs; without an answer the exporters' own labels have to say it."""
    try:
        return View(taken, CLUSTER)[EXPORTERS]
    except FactUnavailable:
        return {}
