"""The health of NVIDIA's devices, as the kubelets tell it of the containers that have them.

The kubelet writes what the device plugin said last into `allocatedResourcesStatus` of a container
(kubernetes/enhancements 4680; on by default since Kubernetes 1.36). A replica of a shared GPU has the id of the GPU,
two colons and a number (k8s-device-plugin internal/rm/devices.go).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.gpu.cluster import RESOURCES
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.proof import join_paths, list_field_paths

Health = Literal["Healthy", "Unhealthy", "Unknown"]
STATES = ("Healthy", "Unhealthy", "Unknown")


@dataclass(frozen=True)
class DeviceHealth:
    """Describe a GPU or MIG instance that a running container of a node has, by its UUID. Where containers of it have
    several states, `health` is Unknown. `message` is the device plugin's, and empty without one."""

    node: str
    uuid: str
    health: Health
    message: str = ""


def parse_device_health(answer: Answer) -> tuple[DeviceHealth, ...]:
    """Parse the devices, each once. Raise ValueError for a state that Kubernetes does not have."""
    devices: dict[tuple[str, str], DeviceHealth] = {}
    for pod in list_objects(answer):
        node = str(pod["spec"]["nodeName"])
        for device in list_devices(node, pod.get("status", {})):
            known_device = devices.setdefault((node, device.uuid), device)
            if known_device.health != device.health:
                devices[node, device.uuid] = DeviceHealth(node, device.uuid, "Unknown")
    return tuple(devices.values())


def list_devices(node: str, status: Any) -> Iterator[DeviceHealth]:
    """List the devices of the containers of a pod that run."""
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        if "running" not in container.get("state", {}):
            continue
        for resource in container.get("allocatedResourcesStatus", ()):
            if not resource["name"].startswith(RESOURCES):
                continue
            for entry in resource.get("resources", ()):
                # An empty health is a kubelet's that does not know it (the field is optional).
                health = entry.get("health") or "Unknown"
                if health not in STATES:
                    raise ValueError(str(health)[:80])
                uuid = str(entry["resourceID"]).partition("::")[0]
                message = shorten_message(entry.get("message") or "")
                yield DeviceHealth(node, uuid, cast(Health, health), message)


CONTAINER = ("state.running", "allocatedResourcesStatus")
DEVICE_HEALTH = Probe(
    "gpu.device-health",
    Api(
        "/api/v1/pods?fieldSelector=status.phase%3DRunning%2Cspec.nodeName%21%3D",
        join_paths(
            ("spec.nodeName",),
            list_field_paths("status.initContainerStatuses", *CONTAINER),
            list_field_paths("status.containerStatuses", *CONTAINER),
        ),
    ),
    parse_device_health,
    manual_command="kubectl get pods -A -o jsonpath='{.items[*].status.containerStatuses[*].allocatedResourcesStatus}'",
)
