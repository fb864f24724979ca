"""DCGM's host engines in pods.

NVIDIA's operator calls DaemonSet and label nvidia-dcgm and the container nvidia-dcgm-ctr (NVIDIA/gpu-operator
assets/state-dcgm/0400_dcgm.yml); dcgmi is in the same image.
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

# Of DaemonSet, Service and label, and of the container.
ENGINE, CONTAINER = "nvidia-dcgm", "nvidia-dcgm-ctr"


def image(version: str) -> str:
    """Of DCGM: nv-hostengine, dcgmi and, for each major version of CUDA, dcgmproftester."""
    return f"nvcr.io/nvidia/cloud-native/dcgm:{version}-ubuntu24.04"


@dataclass(frozen=True)
class EnginePod:
    """`running` is the phase, not yet that the engine answers."""

    name: str
    namespace: str
    node: str
    running: bool


def engine_pods(answer: Answer) -> tuple[EnginePod, ...]:
    """Those that a node was found for."""
    found = [(entry["metadata"], entry.get("spec", {}), entry.get("status", {})) for entry in entries(answer)]
    return tuple(
        EnginePod(name["name"], name["namespace"], spec["nodeName"], status.get("phase") == "Running")
        for name, spec, status in found
        if "nodeName" in spec and "deletionTimestamp" not in name
    )


ENGINE_PODS = Probe(
    "gpu.engine-pods",
    Api(
        f"/api/v1/pods?labelSelector=app%3D{ENGINE}",
        ("metadata.name", "metadata.namespace", "metadata.deletionTimestamp", "spec.nodeName", "status.phase"),
    ),
    engine_pods,
)
