"""DCGM's host engines in pods, and what gpustack has changed on nodes for a time.

NVIDIA's operator calls DaemonSet and label nvidia-dcgm and the container nvidia-dcgm-ctr (NVIDIA/gpu-operator
assets/state-dcgm/0400_dcgm.yml); dcgmi is in the same image.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

# Of DaemonSet, Service and label, and of the container.
ENGINE, CONTAINER = "nvidia-dcgm", "nvidia-dcgm-ctr"
TEMPORARY = "gpustack.io/temporary"


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


def marks(answer: Answer) -> Mapping[str, str]:
    """The text of the annotation, by node."""
    found = {entry["metadata"]["name"]: entry["metadata"].get("annotations", {}) for entry in entries(answer)}
    return {node: str(texts[TEMPORARY]) for node, texts in found.items() if TEMPORARY in texts}


ENGINE_PODS = Probe(
    "gpu.engine-pods",
    Api(
        f"/api/v1/pods?labelSelector=app%3D{ENGINE}",
        ("metadata.name", "metadata.namespace", "metadata.deletionTimestamp", "spec.nodeName", "status.phase"),
    ),
    engine_pods,
)
MARKS = Probe(
    "gpu.temporary", Api("/api/v1/nodes", ("metadata.name", r"metadata.annotations.gpustack\.io/temporary")), marks
)
