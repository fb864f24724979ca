"""Layer `gpu-operator`: images that do not come, and the pods that bring a driver to the node."""

import re
from collections.abc import Iterable

from gpustack.ask.judge import Result, ok
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Hint, Prose
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import DRIVER_PODS
from gpustack.doctor.checks.monitoring.exporter import find_log_lines, own_pods
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.logs import LOGS
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PodState
from gpustack.steps.gpu.mode import mode
from gpustack.steps.gpu.operator import POLICY

PULLS = ("ErrImagePull", "ImagePullBackOff")
GONE = re.compile(r"not found|manifest unknown")


def list_failed_pulls(pods: Iterable[PodState]) -> list[tuple[PodState, str]]:
    """Pods with the kubelet's words for an image that does not come."""
    return [(pod, one.message) for pod in pods for one in pod.containers if one.why in PULLS]


@check("op-driver-image-not-published", GPU_PODS, NODES, IDENTITY, GPU_DEVICES, GPU_DRIVER, GPU_PACKAGES, OS)
def driver_image(here: View) -> Result:
    found = [(pod, words) for pod, words in list_failed_pulls(own_pods(here, DRIVER_PODS)) if GONE.search(words)]
    if not found:
        return ok("image of the driver", "not missing on this host")
    pod, words = found[0]
    return Result("image of the driver", "present", words[:300], person=explain_driver_pod(here, pod))


def explain_driver_pod(here: View, pod: PodState) -> Hint:
    """Why a driver on the host alone does not resolve it: the operator is configured by others to install one. Empty
    where the spec wants that, or where it is unknown."""
    if not all(here.available(probe) for probe in (OS, GPU_PACKAGES, GPU_DRIVER)) or mode(here) == "container":
        return NO_HINT
    if not pod.name.startswith(DRIVER_PODS):
        return Prose("gpustack did not make {}: kubectl get nvidiadrivers shows what requests it", str(pod))
    return Prose(
        "driver.enabled of ClusterPolicy {} is true, unlike in the spec: gpustack install --only gpu-operator --force "
        "disables it, and gpu-driver installs that of the host",
        POLICY,
    )


@check("op-driver-no-internet", LOGS, GPU_PODS, NODES, IDENTITY)
def no_mirror(here: View) -> Result:
    words = find_log_lines(here, "no-mirror")
    waits = any(not pod.ready for pod in own_pods(here, DRIVER_PODS))
    found = words[0].line if words and waits else "the driver's pod is running" if words else "no such message"
    return Result("log of the driver's pod", "no error with packages", found, ok=not (words and waits))


CHECKS = (driver_image, no_mirror)
