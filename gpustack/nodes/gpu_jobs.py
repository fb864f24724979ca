"""The pods of a node that compute on GPUs and end by themselves, for which a reboot waits."""

from collections.abc import Collection, Iterable

from gpustack.nodes.named_pods import includes_pod
from gpustack.nodes.residents import Resident

SERVICE_KINDS = frozenset({"DaemonSet", "ReplicaSet", "StatefulSet", "ReplicationController"})
"""Kinds of controllers whose pods do not end by themselves, and are made anew elsewhere at once."""


def find_gpu_jobs(residents: Iterable[Resident], ended_pods: Collection[str] = ()) -> tuple[Resident, ...]:
    """Find the jobs. A pod that a person gives up is none."""
    return tuple(
        resident
        for resident in residents
        if resident.fate != "stays"
        and resident.pod.devices
        and resident.pod.owner_kind not in SERVICE_KINDS
        and not includes_pod(ended_pods, resident.pod.full_name)
    )


def describe_jobs(jobs: Iterable[Resident]) -> str:
    """Describe jobs by name, with their owners."""
    return ", ".join(
        f"{job.pod.full_name} ({job.pod.controller})" if job.pod.controller else job.pod.full_name for job in jobs
    )
