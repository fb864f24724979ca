"""The hosts that have GPUs and their nodes: the PCI bus of hosts compared with Kubernetes."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from gpustack.ask.judge import Cure, Result, format_value
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
from gpustack.steps.gpu.count import count_gpus, list_gpus
from gpustack.steps.gpu.driver_running import answers
from gpustack.steps.own_node import confirm_node

PRESENCE_LABEL = "nvidia.com/gpu.present"


def count_host_gpus(view: View) -> Mapping[str, int]:
    """Count GPUs for Kubernetes by host, of those hosts that have some and could be asked. Raise FactUnavailable where
    none is known and a host that was reached cannot tell: it may have some."""
    return view.compute_once(compute_host_gpus)


def compute_host_gpus(view: View) -> Mapping[str, int]:
    silent_hosts = list_silent_hosts(view)
    host_views = {host.name: view.select_host(host.name) for host in view.hosts if host.name not in silent_hosts}
    counts = {host: number for host, host_view in host_views.items() if (number := count_gpus(host_view))}
    unclear_hosts = [host for host in silent_hosts if view.select_host(host).reached]
    if unclear_hosts and not counts:
        raise FactUnavailable(
            f"{format_value(unclear_hosts)}: unknown whether there are GPUs, and no other host has any"
        )
    return counts


def list_silent_hosts(view: View) -> Sequence[str]:
    """List the hosts that were not reached, or cannot tell which GPUs they have or who they are. The steps of hosts
    judge them for that; no other host has to suffer for it."""
    return view.compute_once(compute_silent_hosts)


def compute_silent_hosts(view: View) -> Sequence[str]:
    host_views = (view.select_host(host.name) for host in view.hosts)
    return [
        host_view.location
        for host_view in host_views
        if not (host_view.reached and host_view.has_fact(GPU_DEVICES) and host_view.has_fact(IDENTITY))
    ]


def map_gpu_nodes(view: View) -> Mapping[str, GpuNode]:
    """Map the hosts that have GPUs to their nodes; a host is the node that has its machine-id."""
    return view.compute_once(compute_gpu_nodes)


def compute_gpu_nodes(view: View) -> Mapping[str, GpuNode]:
    nodes = {node.machine_id: node for node in view[GPU_NODES]}
    ids = {host: view.select_host(host)[IDENTITY].machine_id for host in count_host_gpus(view)}
    return {host: nodes[machine_id] for host, machine_id in ids.items() if machine_id in nodes}


def map_writable_nodes(view: View) -> Mapping[str, GpuNode]:
    """Map hosts to those of their nodes that are certain. Nothing is written to any other."""
    return {host: node for host, node in map_gpu_nodes(view).items() if node.name == find_writable_node(view, host)}


def find_writable_node(view: View, host: str) -> str:
    """Find the name of the host's node; empty where it is none, or not certain. Raise FactUnavailable where the API did
    not give the nodes."""
    if not view[NODES]:
        return ""
    with suppress(FactUnavailable):
        node = confirm_node(view.select_host(host))
        return node.name if node else ""
    return ""


def list_node_names(view: View, nodes: Mapping[str, GpuNode]) -> Sequence[str]:
    """List the names of nodes, by host, for a command to copy: the word NODE for each that is not certain."""
    names = (node.name if node.name == find_writable_node(view, host) else "NODE" for host, node in nodes.items())
    return tuple(dict.fromkeys(names))


def select_sharing(view: View, host: Host) -> tuple[str, int]:
    """Select the (mode, replicas) of a host: its own setting, else that of all hosts. Without sharing a GPU is one
    replica."""
    own_setting = host.spec.gpustack_sharing
    if own_setting:
        mode, _, replicas = own_setting.partition(":")
        return mode, int(replicas or 1)
    default_sharing = view.spec.gpu.sharing
    return (default_sharing.mode, default_sharing.replicas) if default_sharing.mode != "none" else ("none", 1)


def build_hosts_result(
    subject: str,
    expected_state: str,
    actual_states: dict[str, str],
    cure: Cure = "install",
    hint: Hint = NO_HINT,
    *,
    passing: bool = False,
) -> Result | None:
    """Build a Result that names each host with its actual state. Return None where no host has one."""
    if not actual_states:
        return None
    actual = "; ".join(f"{host}: {text}" for host, text in sorted(actual_states.items()))
    return Result(subject, expected_state, actual, cure, hint=hint, passing=passing)


def namespace(view: View) -> Result | None:
    """The namespace is not being deleted, and allows privileged pods. A missing one is created, and a level that
    somebody set stays."""
    name = view.spec.gpu.namespace
    state = view[NAMESPACES].get(name)
    if state is None:
        return None
    phase, level = state
    if phase == "Terminating":
        hint = Command("kubectl", "get", "namespace", name, "-o", "yaml", note="status.conditions names what remains")
        return Result(f"namespace {name}", "Active", phase, cure="operator", hint=hint)
    if level == "privileged":
        return None
    subject, expected_level = f"namespace {name}", "Pod Security level privileged"
    if not level:
        return Result(subject, expected_level, "unset")
    explain_command = Command("gpustack", "explain", "namespace-restricted")
    return Result(subject, expected_level, level, cure="operator", hint=explain_command)


def find_unlabelled_hosts(view: View) -> dict[str, str]:
    """Find hosts with GPUs whose nodes lack the label. A host that is not a node is checked by the step workers."""
    nodes = map_gpu_nodes(view)
    return {
        host: f"no label {PRESENCE_LABEL}" for host, node in nodes.items() if node.labels.get(PRESENCE_LABEL) != "true"
    }


def gpus_on_bus(view: View) -> Result | None:
    """The bus of each host has at least as many GPUs for Kubernetes as the inventory says (`gpustack_gpus`).

    Not counted are functions that are bound for virtual machines (vfio-pci, pci-stub), and display cards older than
    Turing, next to newer GPUs, that the driver does not support. What the driver shows is offered to pods, even if the
    inventory names fewer.
    """
    counts = {host: (len(list_gpus(view.select_host(host))), number) for host, number in count_host_gpus(view).items()}
    actual_states = {
        host: f"{actual_count} of {expected_count}"
        for host, (actual_count, expected_count) in counts.items()
        if actual_count < expected_count
    }
    hint = Command(
        "lspci",
        "-nnk",
        "-d",
        "10de:",
        note="on that host; gpustack_gpus in the inventory is what it has for Kubernetes",
    )
    return build_hosts_result("GPUs on the bus", "at least gpustack_gpus", actual_states, "operator", hint)


def describe_driver_error(view: View) -> str:
    """Describe the error of a host's driver that does not show all its GPUs; empty where it shows them, where the
    driver comes in a container, and where that is unknown."""
    try:
        result, smi = answers(view), view[GPU_SMI]
    except FactUnavailable:
        return ""
    if result is not None:
        return result.actual
    expected_count = count_gpus(view)
    is_incomplete = smi.state == "ended" and len(smi.gpus) < expected_count
    return f"shows {len(smi.gpus)} of {expected_count} GPUs" if is_incomplete else ""


def has_running_plugins(view: View, plugins: Collection[str]) -> bool:
    """Tell whether device plugins run on every node with GPUs."""
    workloads = [view[GPU_DAEMON_SETS][name] for name in plugins if name in view[GPU_DAEMON_SETS]]
    return all(workload.runs for workload in workloads) and sum(workload.ready for workload in workloads) >= len(
        map_gpu_nodes(view)
    )


def count_node_gpus(view: View) -> dict[str, int]:
    """Count GPUs for Kubernetes, by host that is a node; MIG instances are counted elsewhere."""
    nodes = map_gpu_nodes(view)
    host_gpus = count_host_gpus(view).items()
    return {
        host: count for host, count in host_gpus if host in nodes and not view.select_host(host).host.spec.gpustack_mig
    }


def count_shared_gpus(view: View) -> dict[str, int]:
    """Count GPUs for Kubernetes, by host that is a node, times the pods that share one."""
    return {
        host: count * select_sharing(view, view.select_host(host).host)[1]
        for host, count in count_node_gpus(view).items()
    }


def find_allocatable_mismatch(
    view: View, step: str, plugins: Collection[str], expected_counts: Mapping[str, int], *, at_least: bool = False
) -> Result | None:
    """Compare the allocatable GPUs of the nodes with `expected_counts` by host: as many, or with `at_least` at least as
    many. The page of `step` explains it; `plugins` are the DaemonSets of the device plugin: the kubelet still counts
    the devices of a removed one for minutes, all of them as unhealthy.

    If one GPU does not respond while the device plugin starts, the plugin exits, and the node has no allocatable GPU:
    the driver on the host reports that, and waiting does not help.
    """
    nodes, actual_states, unhealthy_counts, driver_errors = map_gpu_nodes(view), {}, {}, {}
    for host, count in expected_counts.items():
        offered_count = nodes[host].allocatable
        is_known = offered_count or has_running_plugins(view, plugins)
        if is_known and nodes[host].capacity == count > offered_count:
            unhealthy_counts[host] = f"{count - offered_count} of {count} unhealthy"
        elif offered_count < count or (offered_count > count and not at_least):
            actual_states[host] = f"{offered_count} of {count}"
            if driver := describe_driver_error(view.select_host(host)):
                driver_errors[host] = f"{actual_states[host]}, nvidia-smi: {driver}"
    if unhealthy_counts and not actual_states:
        explain_command = Command("gpustack", "explain", f"{step}/allocatable")
        kernel = Prose("journalctl -k | grep NVRM; then {}", explain_command, note="on that host")
        return build_hosts_result("nvidia.com/gpu", "all healthy", unhealthy_counts, "operator", kernel)
    if actual_states and actual_states.keys() == driver_errors.keys():
        hint = Command(
            "gpustack", "explain", "gpu-driver/answers", note="the device plugin starts with all GPUs of a host or none"
        )
        return build_hosts_result(
            "nvidia.com/gpu", "all GPUs of the hosts", driver_errors | unhealthy_counts, "operator", hint
        )
    return build_hosts_result("nvidia.com/gpu", "all GPUs of the hosts", actual_states | unhealthy_counts, passing=True)
