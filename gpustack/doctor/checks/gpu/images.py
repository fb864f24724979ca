"""Faults of the layer `gpu-operator` in images that cannot be pulled, and in pods that install a driver."""

import re
from collections.abc import Iterable

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import DRIVER_PODS
from gpustack.doctor.checks.monitoring.exporter import find_log_lines, list_own_pods
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.logs import LOGS
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PodState
from gpustack.steps.gpu.mode import choose_driver_mode
from gpustack.steps.gpu.operator import POLICY

PULLS = ("ErrImagePull", "ImagePullBackOff")
MISSING_IMAGE = re.compile(r"not found|manifest unknown")


def list_failed_pulls(pods: Iterable[PodState]) -> list[tuple[PodState, str]]:
    """List pods with the message of the kubelet about an image that cannot be pulled."""
    return [(pod, container.message) for pod in pods for container in pod.containers if container.reason in PULLS]


@check("op-driver-image-not-published", GPU_PODS, NODES, IDENTITY, GPU_DEVICES, GPU_DRIVER, GPU_PACKAGES, OS)
def driver_image(view: View) -> Result:
    failed_pulls = [
        (pod, words)
        for pod, words in list_failed_pulls(list_own_pods(view, DRIVER_PODS))
        if MISSING_IMAGE.search(words)
    ]
    if not failed_pulls:
        return build_ok_result("image of the driver", "not missing on this host")
    pod, words = failed_pulls[0]
    return Result("image of the driver", "present", words, person=explain_driver_pod(view, pod))


def explain_driver_pod(view: View, pod: PodState) -> Hint:
    """Explain why a driver on the host alone does not resolve it: someone else configured the operator to install one.
    Return an empty hint where the spec asks for that, or where it is unknown."""
    if (
        not all(view.has_fact(probe) for probe in (OS, GPU_PACKAGES, GPU_DRIVER))
        or choose_driver_mode(view) == "container"
    ):
        return NO_HINT
    if not pod.name.startswith(DRIVER_PODS):
        return Prose("gpustack did not make {}: kubectl get nvidiadrivers shows what requests it", str(pod))
    return Prose(
        "driver.enabled of ClusterPolicy {} is true, unlike in the spec: {} disables it, and gpu-driver installs "
        "that of the host",
        POLICY,
        Command("gpustack", "install", "--only", "gpu-operator", "--force"),
    )


@check("op-driver-no-internet", LOGS, GPU_PODS, NODES, IDENTITY)
def no_mirror(view: View) -> Result:
    words = find_log_lines(view, "no-mirror")
    is_waiting = any(not pod.ready for pod in list_own_pods(view, DRIVER_PODS))
    actual = words[0].line if words and is_waiting else "the driver's pod is running" if words else "no such message"
    return Result("log of the driver's pod", "no error with packages", actual, ok=not (words and is_waiting))
