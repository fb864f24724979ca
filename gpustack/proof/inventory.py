"""The plan of a proof, from the nodes, their pods, the NVIDIA devices of hosts and the Services."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpustack.ask.gather import gather
from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.inventory import Inventory
from gpustack.errors import UnreachableError
from gpustack.events import Reporter
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.proof import EXPORTERS, NODES, PODS, SERVICES, GpuPod, ProofNode
from gpustack.process import is_dead
from gpustack.proof.chain import Place
from gpustack.steps.gpu.count import count_gpus

PROBES: tuple[Probe[Any], ...] = (NODES, PODS, EXPORTERS, SERVICES, GPU_DEVICES, IDENTITY)


def plan_proof(
    snapshot: Snapshot, names: Sequence[str], *, cordoned: bool = False
) -> tuple[tuple[Place, ...], tuple[tuple[str, str], ...]]:
    """Return the nodes to create pods on, and the hosts that cannot be proven with their reasons. With `cordoned`,
    cordoned nodes are proven too. Raise UnreachableError."""
    try:
        return find_places(snapshot, names, cordoned=cordoned), find_skipped_hosts(snapshot, names)
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer; nothing was created."
        raise UnreachableError("proof-no-api", message, str(error), Command("gpustack", "verify")) from error


def gather_offers(inventory: Inventory, report: Reporter) -> Mapping[str, int]:
    """Gather the number of GPUs that each node offers. Return an empty mapping without an answer."""
    try:
        nodes = View(gather(inventory, [NODES], report=report), CLUSTER)[NODES]
    except FactUnavailable:
        return {}
    return {node.name: node.allocatable for node in nodes}


def match_hosts(snapshot: Snapshot) -> dict[str, str]:
    """Match the nodes to hosts by machine-id, or else by name. Return the host by node, empty where no host matches."""
    view = View(snapshot, CLUSTER)
    machines = {
        view.select_host(host.name)[IDENTITY].machine_id: host.name
        for host in snapshot.inventory.hosts
        if view.select_host(host.name).has_fact(IDENTITY)
    }
    host_names = {host.name for host in snapshot.inventory.hosts}
    return {
        node.name: machines.get(node.machine_id) or (node.name if node.name in host_names else "")
        for node in view[NODES]
    }


def find_places(snapshot: Snapshot, names: Sequence[str] = (), *, cordoned: bool = False) -> tuple[Place, ...]:
    """Find the nodes that offer GPUs, or whose host has NVIDIA devices. `names` limits them to hosts; with `cordoned`
    a cordoned node takes pods. Raise FactUnavailable."""
    view, hosts_by_node = View(snapshot, CLUSTER), match_hosts(snapshot)
    pods = view[PODS]
    used_gpus = count_used(pods)
    places = [
        make_place(
            node, used_gpus.get(node.name, 0), count_devices(snapshot, hosts_by_node[node.name]), cordoned=cordoned
        )
        for node in view[NODES]
    ]
    chosen_places = [place for place in places if not names or hosts_by_node[place.node] in names]
    return tuple(place for place in chosen_places if place.capacity or place.devices or place.gpus is None)


def count_used(pods: Sequence[GpuPod]) -> Mapping[str, int]:
    """Count the GPUs in use by node. Pods of a gpustack that has ended are not counted, because a proof removes
    them."""
    gpu_counts: dict[str, int] = {}
    for pod in pods:
        if pod.node and not is_dead(pod.process):
            gpu_counts[pod.node] = gpu_counts.get(pod.node, 0) + pod.gpus
    return gpu_counts


def count_devices(snapshot: Snapshot, host: str) -> int | None:
    try:
        return count_gpus(View(snapshot, host)) if host else None
    except FactUnavailable:
        return None


def make_place(node: ProofNode, busy: int, devices: int | None, *, cordoned: bool = False) -> Place:
    closed_reason = ""
    if not node.ready:
        closed_reason = f"the node is not Ready: {node.reason}"
    elif node.cordoned and not cordoned:
        closed_reason = "the node is cordoned: it takes no new pods"
    elif node.taints:
        closed_reason = f"no ordinary pod gets its GPUs: taint {', '.join(node.taints)}"
    return Place(
        node.name, node.gpus, node.capacity, node.allocatable, busy, devices, node.replicas, node.product,
        closed_reason, node.gate,
    )  # fmt: skip


def find_skipped_hosts(snapshot: Snapshot, names: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """Find the hosts that cannot be proven: they gave no answer, or they have NVIDIA devices and are no node."""
    nodes = set(match_hosts(snapshot).values())
    skipped_hosts = []
    for host in snapshot.inventory.hosts:
        reach = snapshot.reach.get(host.name)
        if (names and host.name not in names) or host.name in nodes:
            continue
        if reach is not None and not reach.reached:
            skipped_hosts.append((host.name, f"unreachable: {reach.reason}"))
        elif count_devices(snapshot, host.name) is None:
            skipped_hosts.append((host.name, "whether it has NVIDIA devices is not known"))
        elif number := count_devices(snapshot, host.name):
            skipped_hosts.append((host.name, f"it has {number} NVIDIA devices, and is no node of the cluster"))
    return tuple(skipped_hosts)


def locate_exporters(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the node by the pod of an exporter. Without an answer it is empty, and the labels of samples name the
    node."""
    try:
        return View(snapshot, CLUSTER)[EXPORTERS]
    except FactUnavailable:
        return {}
