"""The GPU and the owner of a series, by the labels of dcgm-exporter in all of its generations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack.vocabulary.labels import DRIVERS, EXPORTER, HOSTS, NO_NODE_NAME, UUIDS, WORKLOAD_PREFIX


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


def pick_label(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """Pick the value of the first of these labels that a series has; it is empty where it has none."""
    return next(filter(None, map(labels.get, names)), "")


def find_node(labels: Mapping[str, str]) -> str:
    """Find what the labels of a series name as its node: not the pod of the exporter, nor localhost. It is empty where
    they name none."""
    names = (labels.get(label, "") for label in (*HOSTS, "node"))
    return next((name for name in names if name and not NO_NODE_NAME.fullmatch(name)), "")


def pick_node(labels: Mapping[str, str]) -> str:
    """Pick the node of a series. Where no label names one, the target stands for it, which still tells GPUs of several
    nodes apart."""
    return find_node(labels) or pick_label(labels, ("instance", *HOSTS))


def extract_gpu(labels: Mapping[str, str]) -> Gpu | None:
    """Extract the GPU of a series. Return None for a series of anything else: switches, links, processors."""
    index, uuid = labels.get("gpu", ""), pick_label(labels, UUIDS)
    if not index and not uuid:
        return None
    return Gpu(
        pick_node(labels),
        index,
        uuid,
        labels.get("GPU_I_ID", ""),
        labels.get("GPU_I_PROFILE", ""),
        labels.get("modelName", ""),
        labels.get("pci_bus_id", ""),
        pick_label(labels, DRIVERS) or None,
        labels.get("DCGM_FI_DEV_VBIOS_VERSION"),
    )


def extract_owner(labels: Mapping[str, str]) -> Owner | None:
    """Extract the owner of a GPU. Return None for a free GPU, and where the exporter does not ask the kubelet."""
    if labels.get("pod_name"):  # the mode for old name spaces
        return Owner(labels.get("pod_namespace", ""), labels["pod_name"], labels.get("container_name", ""))
    prefix = WORKLOAD_PREFIX if labels.get(f"{WORKLOAD_PREFIX}pod") else ""
    namespace, pod, container = (labels.get(f"{prefix}{name}", "") for name in ("namespace", "pod", "container"))
    own = not prefix and (EXPORTER in pod or EXPORTER in container)
    return Owner(namespace, pod, container) if pod and not own else None
