"""Facts that show that a cluster works: nodes, pods of the platform, GPUs, scrape jobs and names. Only facts that were
read are listed."""

from collections.abc import Callable

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.doctor.checks.dns import find_dns_error
from gpustack.doctor.states.ownership import is_platform_pod
from gpustack.events import format_count
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import PLATFORM_PODS
from gpustack.probes.monitoring.workloads import TARGETS
from gpustack.probes.network.pod_network import POD_PATHS


def list_facts(snapshot: Snapshot) -> list[str]:
    """List what was read, such as `2 of 2 nodes Ready`. A host without Kubernetes has none of it."""
    if not snapshot.inventory.cluster_hosts:
        return []
    view = View(snapshot, CLUSTER)
    return [text for describe in DESCRIPTIONS if (text := describe_fact(describe, view))]


def describe_fact(describe: Callable[[View], str], view: View) -> str:
    """Describe one kind of facts. Return an empty text where an answer is unavailable."""
    try:
        return describe(view)
    except FactUnavailable:
        return ""


def describe_nodes(view: View) -> str:
    return describe_share([node.ready for node in view[NODES]], "node", "Ready")


def describe_pods(view: View) -> str:
    """Describe the pods of the platform, and name their namespaces: some lists may be unavailable. Pods that ended are
    left out."""
    lists = [view[probe] for probe in PLATFORM_PODS if view.has_fact(probe)]
    pods = [pod for pods in lists for pod in pods if is_platform_pod(view, pod) and pod.phase != "Succeeded"]
    namespaces = dict.fromkeys(pod.namespace for pod in pods)
    return describe_share([pod.ready for pod in pods], "pod", f"of {', '.join(namespaces)} ready")


def describe_gpus(view: View) -> str:
    """Describe GPUs and MIG instances by the nodes; shared GPUs count as often as they are offered."""
    nodes = view[GPU_NODES]
    gpu_count, slice_count = sum(node.allocatable for node in nodes), sum(sum(node.slices.values()) for node in nodes)
    counts = ((gpu_count, "GPU"), (slice_count, "MIG instance"))
    texts = [format_count(count, noun) for count, noun in counts if count]
    return f"{' and '.join(texts)} allocatable" if texts else ""


def describe_jobs(view: View) -> str:
    """Describe the scrape jobs of Prometheus: one is up where all of its targets are."""
    return describe_share([value >= 1 for value in view[TARGETS].values()], "scrape job", "up")


def describe_names(view: View) -> str:
    """Describe on how many hosts a pod got an answer from DNS."""
    hosts = [view.select_host(host.name) for host in view.hosts]
    paths = [host[POD_PATHS] for host in hosts if host.reached and host.has_fact(POD_PATHS) and host[POD_PATHS].pods]
    resolving_count = sum(not find_dns_error(path) for path in paths)
    return f"names resolve in pods on {resolving_count} of {format_count(len(paths), 'host')}" if paths else ""


def describe_share(values: list[bool], noun: str, state: str) -> str:
    return f"{sum(values)} of {format_count(len(values), noun)} {state}" if values else ""


DESCRIPTIONS = (describe_nodes, describe_pods, describe_gpus, describe_jobs, describe_names)
