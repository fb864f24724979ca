"""The GPU and the owner of a series, by the labels of dcgm-exporter in all of its generations.

Hostname became hostname in 4.8.3. The mode for old name spaces spells UUID in small letters. A ServiceMonitor without
honorLabels keeps the exporter's own pod in `pod` and moves the workload's to `exported_pod`; with it, series of a free
GPU keep the exporter's own. Sources: internal/pkg/{transformation,hostname} of NVIDIA/dcgm-exporter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

EXPORTER = "dcgm-exporter"  # in the names of its pod and container, whoever deploys it


@dataclass(frozen=True)
class Gpu:
    """Identify a GPU or MIG instance. `index` is DCGM's number on the node, which a reboot may change; `uuid` stays.
    `instance` and `profile` are the id and the profile (`1g.10gb`) of a MIG instance, empty for the whole GPU. A value
    that no label has is empty; `driver` and `vbios` are None then."""

    node: str
    index: str
    uuid: str
    instance: str = ""
    profile: str = ""
    model: str = ""
    bus: str = ""
    driver: str | None = None
    vbios: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Return a key that all series of one GPU or MIG instance share. Node and index stand in for a missing UUID."""
        return (self.uuid or f"{self.node}:{self.index}", self.instance)


@dataclass(frozen=True, order=True)
class Owner:
    """Identify the container that the kubelet gave a GPU to, which does not prove that it uses it."""

    namespace: str
    pod: str
    container: str = ""

    @property
    def path(self) -> str:
        """Name the pod as `team-a/train-0`."""
        return f"{self.namespace}/{self.pod}"


def extract_gpu(labels: Mapping[str, str]) -> Gpu | None:
    """Extract the GPU of a series. Return None for a series of anything else: switches, links, processors."""
    index, uuid = labels.get("gpu", ""), labels.get("UUID") or labels.get("uuid", "")
    if not index and not uuid:
        return None
    node = labels.get("Hostname") or labels.get("hostname") or labels.get("node") or labels.get("instance", "")
    return Gpu(
        node,
        index,
        uuid,
        labels.get("GPU_I_ID", ""),
        labels.get("GPU_I_PROFILE", ""),
        labels.get("modelName", ""),
        labels.get("pci_bus_id", ""),
        labels.get("DCGM_FI_DRIVER_VERSION") or labels.get("DCGM_FI_SYSTEM_DRIVER_VERSION"),
        labels.get("DCGM_FI_DEV_VBIOS_VERSION"),
    )


def extract_owner(labels: Mapping[str, str]) -> Owner | None:
    """Extract the owner of a GPU. Return None for a free GPU, and where the exporter does not ask the kubelet."""
    if labels.get("pod_name"):  # the mode for old name spaces
        return Owner(labels.get("pod_namespace", ""), labels["pod_name"], labels.get("container_name", ""))
    prefix = "exported_" if labels.get("exported_pod") else ""
    namespace, pod, container = (labels.get(f"{prefix}{name}", "") for name in ("namespace", "pod", "container"))
    own = not prefix and (EXPORTER in pod or EXPORTER in container)
    return Owner(namespace, pod, container) if pod and not own else None
