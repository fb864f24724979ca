"""Sources of verdicts that hosts and the Kubernetes API have: kernel logs, the recovery actions that nvidia-smi prints,
the health of devices by the kubelets, and the GPUs of the last proof of each node. `host_answers` reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpustack.probes.gpu.logs import XidLine
    from gpustack.probes.kubernetes.device_health import DeviceHealth
    from gpustack.probes.kubernetes.node_records import ProvenGpus


@dataclass(frozen=True)
class HostSources:
    """Hold what was read: Xids by node, devices by their UUID, proven GPUs by node, and by node the recovery action of
    each GPU by its short PCI address. `doubts` are sentences about sources that are missing."""

    xid_lines: "Mapping[str, tuple[XidLine, ...]]" = field(default_factory=dict)
    devices: "Mapping[str, DeviceHealth]" = field(default_factory=dict)
    proven_gpus: "Mapping[str, ProvenGpus]" = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    recovery_actions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


NO_HOSTS = HostSources(
    doubts=(
        "No host was asked: kernel logs, nvidia-smi, the health of devices by kubelets, and proven GPUs are missing.",
    )
)
