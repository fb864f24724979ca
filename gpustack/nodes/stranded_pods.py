"""Pods that the kubelet refused because the device plugin had no GPU to give yet, as after a boot.

They stay Failed until somebody deletes them. One is deleted only where its controller has made another pod since, so
that nothing that a person may look for is lost.
"""

import shlex
from collections.abc import Collection, Iterable

from gpustack.ask.api import ADMIN
from gpustack.probes.gpu.cluster import ADMISSION_ERROR
from gpustack.probes.kubernetes.node_pods import NodePod


def find_stranded_pods(pods: Iterable[NodePod]) -> tuple[NodePod, ...]:
    """Find the pods with GPUs that the kubelet refused at admission."""
    return tuple(pod for pod in pods if pod.phase == "Failed" and pod.refusal == ADMISSION_ERROR and pod.devices)


def select_replaced(pods: Iterable[NodePod], live_controllers: Collection[str]) -> tuple[NodePod, ...]:
    """Select the pods whose controllers have other pods that did not fail. `live_controllers` are the uids of these
    controllers."""
    return tuple(pod for pod in pods if pod.owner_uid and pod.owner_uid in live_controllers)


def build_removal_script(pods: Iterable[NodePod]) -> str:
    """Build a script that deletes pods that have failed, and prints their full names."""
    kubectl = ("kubectl", ADMIN, "--request-timeout=20s")
    lines = []
    for pod in pods:
        removal = ("--namespace", shlex.quote(pod.namespace), "delete", "pod", shlex.quote(pod.name), "--wait=false")
        lines.append(f"{' '.join((*kubectl, *removal))} >/dev/null && echo {shlex.quote(pod.full_name)}\n")
    return "".join(lines) + "exit 0\n"
