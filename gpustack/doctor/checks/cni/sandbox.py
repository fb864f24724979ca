"""Faults of the layer `cni` in pods whose sandbox cannot be created, according to the kubelet of their node."""

import re

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.node_lookup import PROMETHEUS, list_app_nodes
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, Node
from gpustack.probes.kubernetes.pod_states import MONITORING_PODS
from gpustack.probes.kubernetes.pods import SANDBOX_FAILURES, STARTING_PODS, PendingPod
from gpustack.steps.own_node import find_node
from gpustack.steps.platform_namespaces import list_platform_namespaces

# A RuntimeClass of a user that this containerd does not have (containerd, internal/cri/config).
HANDLER = re.compile(r'no runtime for \\?"([^"\\]+)\\?" is configured')


def is_foreign_runtime(words: str) -> bool:
    """Tell whether a pod needs a runtime that neither gpustack nor the GPU operator installs."""
    match = HANDLER.search(words)
    return match is not None and not match[1].startswith(("nvidia", "runc"))


def list_pods_without_sandbox(view: View, node: Node | None) -> list[PendingPod]:
    """List pods of the node that still wait, and whose sandbox could not be created."""
    waiting_pods, failures = view[STARTING_PODS], view[SANDBOX_FAILURES]
    return [pod for pod in waiting_pods if node and pod.node == node.name and not pod.begun and pod.uid in failures]


@check("st-sandbox-fails", NODES, IDENTITY, STARTING_PODS, SANDBOX_FAILURES)
def sandbox_fails(view: View) -> Result:
    """Check that pods get a sandbox. A pod that no longer waits does not count, because events remain for an hour after
    recovery."""
    subject, node = "sandboxes of pods", find_node(view)
    if node is None:
        return build_ok_result(subject, "the host is not a node")
    failures = view[SANDBOX_FAILURES]
    pods_without_sandbox = list_pods_without_sandbox(view, node)
    pods = [
        pod
        for pod in pods_without_sandbox
        if pod.namespace in list_platform_namespaces(view) or not is_foreign_runtime(failures[pod.uid])
    ]
    if not pods:
        return build_ok_result(subject, "no pod of this node without one")
    remainder = f" (and {len(pods) - 1} more)" if len(pods) > 1 else ""
    first_pod = pods[0]
    return Result(subject, "created", f"{first_pod.namespace}/{first_pod.name}{remainder}: {failures[first_pod.uid]}")


@check("st-sandbox-fails -> st-no-metrics", NODES, IDENTITY, MONITORING_PODS)
def prometheus_is_here(view: View) -> Result:
    node, prometheus_nodes = find_node(view), list_app_nodes(view, PROMETHEUS)
    return Result(
        "Prometheus",
        "on this node",
        format_value(prometheus_nodes),
        ok=not (node is not None and node.name in prometheus_nodes),
    )


@check("containerd-cgroup-driver -> kube-proxy-down", NODES, IDENTITY, STARTING_PODS, SANDBOX_FAILURES)
def proxy_waits(view: View) -> Result:
    """Look for a kube-proxy that started after the runtime had stopped creating sandboxes. An earlier one keeps
    running."""
    waiting_pods = list_pods_without_sandbox(view, find_node(view))
    is_missing = any(pod.namespace == "kube-system" and pod.name.startswith("kube-proxy-") for pod in waiting_pods)
    return Result("sandbox of kube-proxy", "missing", "missing" if is_missing else "created", ok=not is_missing)
