"""Which hosts have GPUs, and which node is whose: what the PCI bus of hosts says beside what Kubernetes says."""

from gpustack.ask.judge import Cure, Mismatch
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.probes.gpu import GPU_DEVICES
from gpustack.probes.gpu_cluster import GPU_NODES, GpuNode
from gpustack.probes.system import IDENTITY


def expected(here: View) -> dict[str, int]:
    """GPUs by host, of those hosts that have some and could be asked."""
    found = {}
    for host in here.hosts:
        there = here.on(host.name)
        if there.reached and there.told(GPU_DEVICES) and (count := len(there[GPU_DEVICES])):
            found[host.name] = count
    return found


def gpu_nodes(here: View) -> dict[str, GpuNode]:
    """The nodes of the hosts that have GPUs, by host; a host is the node that has its machine-id."""
    nodes = {node.machine_id: node for node in here[GPU_NODES]}
    found = {}
    for host in expected(here):
        there = here.on(host)
        if there.told(IDENTITY) and (node := nodes.get(there[IDENTITY].machine_id)):
            found[host] = node
    return found


def sharing(here: View, host: Host) -> tuple[str, int]:
    """(mode, replicas) of a host: its own setting, else that of all. Without sharing a GPU is one replica."""
    said = host.spec.gpustack_sharing
    if said:
        mode, _, replicas = said.partition(":")
        return mode, int(replicas or 1)
    of_all = here.spec.gpu.sharing
    return (of_all.mode, of_all.replicas) if of_all.mode != "none" else ("none", 1)


def on_hosts(
    what: str, wanted: str, wrong: dict[str, str], cure: Cure = "install", hint: str = "", *, passing: bool = False
) -> Mismatch | None:
    """A Mismatch that names each host with what was found there."""
    if not wrong:
        return None
    found = "; ".join(f"{host}: {text}" for host, text in sorted(wrong.items()))
    return Mismatch(what, wanted, found, cure, hint=hint, passing=passing)
