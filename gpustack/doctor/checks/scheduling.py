"""Faults of the layer `scheduling` in pods of the platform. Pods of users do not count."""

import re
from datetime import timedelta

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import build_names, check, expect_none
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.quotas import GPU_QUOTAS, QUOTA_REFUSALS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, Node, list_unready_nodes
from gpustack.probes.kubernetes.scheduling import GPU, UNSCHEDULED_PODS, UnscheduledPod
from gpustack.steps.gpu.hosts import count_host_gpus, list_silent_hosts
from gpustack.steps.own_node import find_node
from gpustack.steps.platform_namespaces import list_platform_namespaces
from gpustack.steps.taint import TAINT

LIFECYCLE = "node.kubernetes.io/"
CORDON = f"{LIFECYCLE}unschedulable"
CORDON_REASON = "were unschedulable"
SHORTAGE_REASON = re.compile(r"Insufficient ([\w-]+(?:[./][\w-]+)*)|Too many (pods)")
# Reasons that the graph knows. Others are set by a person: a selector, an affinity, another taint.
KNOWN_TAINT = re.compile(
    rf"untolerated taint \{{(node-role\.kubernetes\.io/control-plane|{LIFECYCLE}(?!unschedulable))"
)
# Kubernetes 1.34 and newer do not name the taints.
UNNAMED_TAINT = "untolerated taint(s)"
A_WHILE = timedelta(seconds=60)


def list_lifecycle_taints(node: Node) -> list[str]:
    return [taint for taint in node.taints if taint.startswith(LIFECYCLE) and not taint.startswith(CORDON)]


def is_known_reason(view: View, reason: str) -> bool:
    """Tell whether a pod waits for a reason of the cluster that the graph knows. A person cordoned a cordoned node on
    purpose."""
    if CORDON_REASON in reason:
        return False
    if SHORTAGE_REASON.search(reason) or KNOWN_TAINT.search(reason):
        return True
    nodes = view[NODES] if UNNAMED_TAINT in reason else ()
    return any(map(list_lifecycle_taints, nodes)) or bool(nodes and all(TAINT in node.taints for node in nodes))


def list_platform_pods(view: View) -> list[UnscheduledPod]:
    """List pods of the platform that have been waiting for A_WHILE. One that a DaemonSet made for a node that is not
    Ready waits for that node."""
    namespaces = list_platform_namespaces(view)
    unready_nodes = list_unready_nodes(view[NODES])
    waiting_pods = [
        pod
        for pod in view[UNSCHEDULED_PODS]
        if pod.namespace in namespaces
        and view.started_at - pod.pending_since > A_WHILE
        and pod.only_node not in unready_nodes
    ]
    return [pod for pod in waiting_pods if is_known_reason(view, pod.reason)]


def format_pods(unscheduled_pods: list[UnscheduledPod]) -> str:
    if not unscheduled_pods:
        return "none"
    names = format_value([*dict.fromkeys(f"{pod.namespace}/{pod.name}" for pod in unscheduled_pods)][:5])
    return f"{names}: {unscheduled_pods[0].reason}"


@check("st-pods-pending", UNSCHEDULED_PODS, NODES)
def pods_pending(view: View) -> Result:
    unscheduled_pods = list_platform_pods(view)
    return Result("unscheduled pods of the platform", "none", format_pods(unscheduled_pods), ok=not unscheduled_pods)


def list_shortages(view: View) -> list[tuple[UnscheduledPod, str]]:
    """List pods of the platform with each resource that is insufficient for them."""
    return [
        (pod, name or pods) for pod in list_platform_pods(view) for name, pods in SHORTAGE_REASON.findall(pod.reason)
    ]


@check("insufficient-resources", UNSCHEDULED_PODS, NODES)
def insufficient(view: View) -> Result:
    unscheduled_pods = [pod for pod, _ in list_shortages(view)]
    return Result(
        "platform pods without enough resources", "none", format_pods(unscheduled_pods), ok=not unscheduled_pods
    )


@check("insufficient-resources guard", UNSCHEDULED_PODS, NODES, GPU_NODES)
def in_use(view: View) -> Result:
    """Check that the insufficient resource exists. GPUs may be missing; other resources always exist."""
    scarce_resources = {subject for _, subject in list_shortages(view)}
    total = sum(node.allocatable for node in view[GPU_NODES])
    if scarce_resources - {GPU}:
        return Result("insufficient resource", "CPU, memory or pods", format_value(scarce_resources))
    return Result(
        "allocatable GPUs",
        "1 or more, all in use",
        f"{total}, insufficient: {format_value(scarce_resources)}",
        ok=not (scarce_resources and total > 0),
    )


@check("st-gpu-pods-pending", UNSCHEDULED_PODS, GPU_NODES, GPU_DEVICES, IDENTITY)
def gpu_pods_pending(view: View) -> Result:
    """Look for waiting GPU pods while no node has allocatable GPUs. If all are in use, pods just wait; if no host has
    one, the scheduler's message shows it."""
    unscheduled_pods = [pod for pod in view[UNSCHEDULED_PODS] if pod.gpu and f"Insufficient {GPU}" in pod.reason]
    total = sum(node.allocatable for node in view[GPU_NODES])
    if total:
        return build_ok_result("unscheduled GPU pods", f"{total} GPUs are allocatable")
    if unscheduled_pods and not list_silent_hosts(view) and not count_host_gpus(view):
        return build_ok_result("unscheduled GPU pods", "no host has a GPU")
    return Result("unscheduled GPU pods", "none", format_pods(unscheduled_pods), ok=not unscheduled_pods)


@check("node-lifecycle-taints", NODES, IDENTITY)
def lifecycle_taints(view: View) -> Result:
    """Look for condition taints of the node. The taint of a cordoned node does not count, because it is intended."""
    node = find_node(view)
    taints = list_lifecycle_taints(node) if node else []
    return expect_none("condition taints of the node", "none", taints, "none")


@check("node-cordoned", NODES, IDENTITY, UNSCHEDULED_PODS, GPU_NODES)
def is_cordoned(view: View) -> Result:
    """Look for a cordoned node, with its GPUs, and the pods for which the scheduler skipped a cordoned node."""
    node = find_node(view)
    if not node or not any(taint.startswith(CORDON) for taint in node.taints):
        return build_ok_result("node", "schedulable" if node else "none")
    gpus = sum(gpu_node.allocatable for gpu_node in view[GPU_NODES] if gpu_node.name == node.name)
    pods = [f"{pod.namespace}/{pod.name}" for pod in view[UNSCHEDULED_PODS] if CORDON_REASON in pod.reason]
    parts = [f"{node.name} is cordoned", f"{gpus} of its GPUs accept no new pods" if gpus else ""]
    parts.append(f"{format_value(pods[:5])} {'wait' if len(pods) > 1 else 'waits'} for a node" if pods else "")
    return Result("node", "schedulable", "; ".join(filter(None, parts)))


@check("gpu-quota-exceeded", QUOTA_REFUSALS, GPU_QUOTAS)
def quota_exceeded(view: View) -> Result:
    """Look for pods that a quota has refused and would refuse again. An event stays for an hour, and the quota may have
    been raised since."""
    quotas = {(quota.namespace, quota.name, quota.resource): quota for quota in view[GPU_QUOTAS]}
    refusals = [
        (refusal, quota)
        for refusal in view[QUOTA_REFUSALS]
        if (quota := quotas.get((refusal.namespace, refusal.quota, refusal.resource)))
        and quota.use + refusal.count > quota.limit
    ]
    texts = [
        f"namespace {quota.namespace}: quota {quota.name} has {max(quota.limit - quota.use, 0)} of {quota.limit} "
        f"{quota.resource} left, and {refusal.controller} requests {refusal.count}"
        for refusal, quota in refusals
    ]
    names = build_names(
        NAMESPACE=[quota.namespace for _, quota in refusals], QUOTA=[quota.name for _, quota in refusals]
    )
    return Result(
        "pods that a quota of GPUs refuses", "none", "; ".join(texts[:5]) or "none", ok=not refusals, names=names
    )


@check("st-pods-pending -> op-nodes-not-labelled", UNSCHEDULED_PODS, NODES)
def labeller_waits(view: View) -> Result:
    unscheduled_pods = [
        pod for pod in list_platform_pods(view) if re.search(r"node-feature-discovery|gpu-feature-discovery", pod.name)
    ]
    return Result("pods that label nodes", "unscheduled", format_pods(unscheduled_pods), ok=not unscheduled_pods)


@check("st-pods-pending -> st-no-metrics", UNSCHEDULED_PODS, NODES)
def prometheus_waits(view: View) -> Result:
    space = view.spec.monitoring.namespace
    unscheduled_pods = [
        pod for pod in list_platform_pods(view) if pod.namespace == space and pod.name.startswith("prometheus-")
    ]
    return Result("Prometheus", "unscheduled", format_pods(unscheduled_pods), ok=not unscheduled_pods)
