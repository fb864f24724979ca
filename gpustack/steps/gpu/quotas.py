"""Allocatable GPUs that no pod gets, because the quotas of all namespaces together allow fewer.

This is certain only where every namespace for users has a quota that is for all its pods: in any other one a pod gets
what is free. A quota that is used up leaves no GPU unused and is no finding here; the doctor names the pods that one
refuses (gpu-quota-exceeded).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from gpustack.ask.judge import format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.probes.gpu.cluster import GPU_NODES, RESOURCE
from gpustack.probes.gpu.quotas import GPU_QUOTAS, GpuQuota
from gpustack.steps.platform_namespaces import list_user_namespaces


def describe_unallowed_gpus(view: View) -> Sequence[str]:
    """Describe by resource how many units the quotas allow to no pod; nothing where the nodes are unknown, because
    checks report that."""
    try:
        totals = count_allocatable_units(view)
    except FactUnavailable:
        return ()
    if not totals:
        return ()
    try:
        sentences = [describe_shortfall(view, resource, total) for resource, total in sorted(totals.items())]
    except FactUnavailable as error:
        return (f"unknown whether quotas keep pods from {format_value(list(totals))}: {error}",)
    return tuple(filter(None, sentences))


def count_allocatable_units(view: View) -> Mapping[str, int]:
    """Count the units of each resource of GPUs that some node has."""
    totals: Counter[str] = Counter()
    for node in view[GPU_NODES]:
        totals.update({RESOURCE: node.allocatable, **node.slices})
    return +totals


def describe_shortfall(view: View, resource: str, total: int) -> str:
    """Describe the units that no quota allows; empty where there are none, and where some namespace has no limit."""
    quotas, namespaces = find_lowest_quotas(view, resource), list_user_namespaces(view)
    if not namespaces or not quotas.keys() >= set(namespaces):
        return ""
    count = total - sum(quotas[name].limit for name in namespaces)
    if count <= 0:
        return ""
    parts = ", ".join(f"quota {quotas[name].name} of {name} allows {quotas[name].limit}" for name in namespaces)
    return f"no pod gets {count} of {total} allocatable {resource}: every namespace has a limit: {parts}"


def find_lowest_quotas(view: View, resource: str) -> Mapping[str, GpuQuota]:
    """Find by namespace the quota that allows least, among those that are for all pods."""
    quotas = [quota for quota in view[GPU_QUOTAS] if quota.resource == resource and not quota.is_scoped]
    return {quota.namespace: quota for quota in sorted(quotas, key=lambda quota: quota.limit, reverse=True)}
