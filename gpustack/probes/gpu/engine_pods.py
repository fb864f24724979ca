"""DCGM's host engines in pods.

NVIDIA's operator calls DaemonSet and label nvidia-dcgm and the container nvidia-dcgm-ctr (NVIDIA/gpu-operator
assets/state-dcgm/0400_dcgm.yml); dcgmi is in the same image. Without the operator such a container is in the pod of the
exporter, which asks it on the pod's loopback.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects

# Of DaemonSet, Service and label, and of the container.
ENGINE, CONTAINER = "nvidia-dcgm", "nvidia-dcgm-ctr"
EXPORTER = "nvidia-dcgm-exporter"


def format_image(version: str) -> str:
    """Format the name of DCGM's image, with nv-hostengine, dcgmi and, for each major version of CUDA,
    dcgmproftester."""
    return f"nvcr.io/nvidia/cloud-native/dcgm:{version}-ubuntu24.04"


@dataclass(frozen=True)
class EnginePod:
    """Describe a pod with an engine. `running` is the phase, and does not say that the engine answers."""

    name: str
    namespace: str
    node: str
    running: bool


def parse_engine_pods(answer: Answer) -> tuple[EnginePod, ...]:
    """Parse the pods with an engine that have a node. A recording of an earlier release has no containers: its pods all
    have an engine."""
    pod_parts = [(entry["metadata"], entry.get("spec", {}), entry.get("status", {})) for entry in list_objects(answer)]
    return tuple(
        EnginePod(name["name"], name["namespace"], spec["nodeName"], status.get("phase") == "Running")
        for name, spec, status in pod_parts
        if "nodeName" in spec and "deletionTimestamp" not in name and has_engine(spec)
    )


def has_engine(spec: Mapping[str, Any]) -> bool:
    """Tell whether a pod has a container with an engine, or is from a recording without containers."""
    return "containers" not in spec or CONTAINER in {container["name"] for container in spec["containers"]}


ENGINE_PODS = Probe(
    "gpu.engine-pods",
    Api(
        f"/api/v1/pods?labelSelector=app%20in%20%28{ENGINE}%2C{EXPORTER}%29",
        (
            "metadata.name", "metadata.namespace", "metadata.deletionTimestamp", "spec.nodeName",
            "spec.containers.name", "status.phase",
        ),
    ),
    parse_engine_pods,
)  # fmt: skip
