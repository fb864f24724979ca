"""Which hosts have GPUs, and which node belongs to which host: the PCI bus of hosts compared with Kubernetes."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from gpustack.ask.judge import Cure, Result, as_text
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.config.host import Host
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS, GPU_NODES, GpuNode
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_SMI
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.namespaces import NAMESPACES
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.steps.gpu.count import gpu_count, gpus
from gpustack.steps.gpu.driver_running import answers
from gpustack.steps.own_node import confirm_own

PRESENT = "nvidia.com/gpu.present"


def expected(here: View) -> Mapping[str, int]:
    """GPUs for Kubernetes by host, of those hosts that have some and could be asked. Raises FactUnavailable where none
    is known and a host that was reached cannot tell: it may have some."""
    return here.once(gpus_of_hosts)


def gpus_of_hosts(here: View) -> Mapping[str, int]:
    away = silent(here)
    there = {host.name: here.on(host.name) for host in here.hosts if host.name not in away}
    found = {host: number for host, view in there.items() if (number := gpu_count(view))}
    unclear = [host for host in away if here.on(host).reached]
    if unclear and not found:
        raise FactUnavailable(f"{as_text(unclear)} cannot tell whether there are GPUs, and no other host has any")
    return found


def silent(here: View) -> Sequence[str]:
    """The hosts that were not reached, or cannot tell which GPUs they have or who they are. The steps of hosts judge
    them for that; no other host has to suffer for it."""
    return here.once(silent_hosts)


def silent_hosts(here: View) -> Sequence[str]:
    views = (here.on(host.name) for host in here.hosts)
    return [
        view.where for view in views if not (view.reached and view.available(GPU_DEVICES) and view.available(IDENTITY))
    ]


def gpu_nodes(here: View) -> Mapping[str, GpuNode]:
    """The nodes of the hosts that have GPUs, by host; a host is the node that has its machine-id."""
    return here.once(nodes_of_hosts)


def nodes_of_hosts(here: View) -> Mapping[str, GpuNode]:
    nodes = {node.machine_id: node for node in here[GPU_NODES]}
    ids = {host: here.on(host)[IDENTITY].machine_id for host in expected(here)}
    return {host: nodes[machine_id] for host, machine_id in ids.items() if machine_id in nodes}


def writable_nodes(here: View) -> Mapping[str, GpuNode]:
    """Return the nodes of `gpu_nodes` that certainly are their hosts'. Nothing is written to any other."""
    return {host: node for host, node in gpu_nodes(here).items() if node.name == find_writable_node(here, host)}


def find_writable_node(here: View, host: str) -> str:
    """Return the name of the host's node; empty where it is none, or not certain. Raises FactUnavailable where the API
    did not give the nodes."""
    if not here[NODES]:
        return ""
    with suppress(FactUnavailable):
        node = confirm_own(here.on(host))
        return node.name if node else ""
    return ""


def name_nodes(here: View, nodes: Mapping[str, GpuNode]) -> Sequence[str]:
    """Return the names of nodes, by host, for a command to copy: the word NODE for each that is not certain."""
    names = (node.name if node.name == find_writable_node(here, host) else "NODE" for host, node in nodes.items())
    return tuple(dict.fromkeys(names))


def sharing(here: View, host: Host) -> tuple[str, int]:
    """(mode, replicas) of a host: its own setting, else that of all. Without sharing a GPU is one replica."""
    own_setting = host.spec.gpustack_sharing
    if own_setting:
        mode, _, replicas = own_setting.partition(":")
        return mode, int(replicas or 1)
    of_all = here.spec.gpu.sharing
    return (of_all.mode, of_all.replicas) if of_all.mode != "none" else ("none", 1)


def on_hosts(
    what: str,
    wanted: str,
    wrong: dict[str, str],
    cure: Cure = "install",
    hint: Hint = NO_HINT,
    *,
    passing: bool = False,
) -> Result | None:
    """A Result that names each host with what was found there."""
    if not wrong:
        return None
    found = "; ".join(f"{host}: {text}" for host, text in sorted(wrong.items()))
    return Result(what, wanted, found, cure, hint=hint, passing=passing)


def namespace_mismatch(here: View) -> Result | None:
    """Compare the namespace of the GPU stack; a missing one is created, and a level that somebody set stays."""
    name = here.spec.gpu.namespace
    found = here[NAMESPACES].get(name)
    if not expected(here) or found is None:
        return None
    phase, level = found
    if phase == "Terminating":
        hint = Command("kubectl", "get", "namespace", name, "-o", "yaml", note="status.conditions names what remains")
        return Result(f"namespace {name}", "Active", phase, cure="operator", hint=hint)
    if level == "privileged":
        return None
    what, expected_level = f"namespace {name}", "Pod Security level privileged"
    if not level:
        return Result(what, expected_level, "unset")
    explain = Command("gpustack", "explain", "namespace-restricted")
    return Result(what, expected_level, level, cure="operator", hint=explain)


def unlabelled(here: View) -> dict[str, str]:
    """Hosts with GPUs whose nodes lack the label. A host that is not a node is checked by the step workers."""
    nodes = gpu_nodes(here)
    return {host: f"no label {PRESENT}" for host, node in nodes.items() if node.labels.get(PRESENT) != "true"}


def gpu_count_mismatch(here: View) -> Result | None:
    """Of hosts with fewer GPUs for Kubernetes on the bus than in the inventory."""
    found = {host: (len(gpus(here.on(host))), number) for host, number in expected(here).items()}
    wrong = {host: f"{there} of {wanted}" for host, (there, wanted) in found.items() if there < wanted}
    hint = Command(
        "lspci",
        "-nnk",
        "-d",
        "10de:",
        note="on that host; gpustack_gpus in the inventory is what it has for Kubernetes",
    )
    return on_hosts("GPUs on the bus", "at least gpustack_gpus", wrong, "operator", hint)


def unwell(there: View) -> str:
    """The error of a host's driver that does not show all its GPUs; empty where it shows them, where the driver comes
    in a container, and where that is unknown."""
    try:
        found, shown = answers(there), there[GPU_SMI]
    except FactUnavailable:
        return ""
    if found is not None:
        return found.found
    wanted = gpu_count(there)
    missing = shown.state == "ended" and len(shown.gpus) < wanted
    return f"shows {len(shown.gpus)} of {wanted} GPUs" if missing else ""


def offered(here: View, plugins: Collection[str]) -> bool:
    """Whether device plugins run on every node with GPUs."""
    there = [here[GPU_DAEMON_SETS][name] for name in plugins if name in here[GPU_DAEMON_SETS]]
    return all(one.runs for one in there) and sum(one.ready for one in there) >= len(gpu_nodes(here))


def whole(here: View) -> dict[str, int]:
    """GPUs for Kubernetes, by host that is a node; MIG instances are counted elsewhere."""
    nodes = gpu_nodes(here)
    found = expected(here).items()
    return {host: n for host, n in found if host in nodes and not here.on(host).host.spec.gpustack_mig}


def shared(here: View) -> dict[str, int]:
    """The same, times the pods that share one."""
    return {host: count * sharing(here, here.on(host).host)[1] for host, count in whole(here).items()}


def allocatable_mismatch(
    here: View, step: str, plugins: Collection[str], wanted: Mapping[str, int], *, least: bool = False
) -> Result | None:
    """Allocatable GPUs of the nodes, compared with those `wanted` by host: as many, or at `least` as many. The page of
    `step` explains it; `plugins` are the DaemonSets of the device plugin: the kubelet still counts the devices of a
    removed one for minutes, all of them as unhealthy.

    If one GPU does not respond while the device plugin starts, the plugin exits, and the node has no allocatable GPU:
    the driver on the host reports that, and waiting does not help."""
    nodes, wrong, ill, hindered = gpu_nodes(here), {}, {}, {}
    for host, count in wanted.items():
        offers = nodes[host].allocatable
        known = offers or offered(here, plugins)
        if known and nodes[host].capacity == count > offers:
            ill[host] = f"{count - offers} of {count} unhealthy"
        elif offers < count or (offers > count and not least):
            wrong[host] = f"{offers} of {count}"
            if driver := unwell(here.on(host)):
                hindered[host] = f"{wrong[host]}, nvidia-smi: {driver}"
    if ill and not wrong:
        explain = Command("gpustack", "explain", f"{step}/allocatable")
        kernel = Prose("journalctl -k | grep NVRM; then {}", explain, note="on that host")
        return on_hosts("nvidia.com/gpu", "all healthy", ill, "operator", kernel)
    if wrong and wrong.keys() == hindered.keys():
        hint = Command(
            "gpustack", "explain", "gpu-driver/answers", note="the device plugin starts with all GPUs of a host or none"
        )
        return on_hosts("nvidia.com/gpu", "all GPUs of the hosts", hindered | ill, "operator", hint)
    return on_hosts("nvidia.com/gpu", "all GPUs of the hosts", wrong | ill, passing=True)
