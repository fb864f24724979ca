"""Storage: the classes that volumes can be of, and the provisioner that we bring."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries
from gpustack.probes.kubernetes.workloads import KEEP, workloads

DEFAULT = "storageclass.kubernetes.io/is-default-class"


@dataclass(frozen=True)
class StorageClass:
    """`default`: a claim that names no class gets this one."""

    name: str
    provisioner: str
    default: bool


@dataclass(frozen=True)
class Claim:
    """A PersistentVolumeClaim. `storage_class` is None where it takes the default one."""

    name: str
    storage_class: str | None
    phase: str


def claims(answer: Answer) -> tuple[Claim, ...]:
    return tuple(
        Claim(entry["metadata"]["name"], entry.get("spec", {}).get("storageClassName"), entry["status"]["phase"])
        for entry in entries(answer)
    )


def classes(answer: Answer) -> tuple[StorageClass, ...]:
    return tuple(
        StorageClass(
            entry["metadata"]["name"],
            entry["provisioner"],
            entry["metadata"].get("annotations", {}).get(DEFAULT) == "true",
        )
        for entry in entries(answer)
    )


CLASSES = Probe(
    "storage.classes",
    Api("/apis/storage.k8s.io/v1/storageclasses", ("metadata.name", "metadata.annotations", "provisioner")),
    classes,
)
PROVISIONER = Probe(
    "storage.provisioner", Api("/apis/apps/v1/namespaces/local-path-storage/deployments", KEEP), workloads
)
CLAIMS = Probe(
    "monitoring.claims",
    Api(
        "/api/v1/namespaces/$MONITORING/persistentvolumeclaims",
        ("metadata.name", "spec.storageClassName", "status.phase"),
    ),
    claims,
)
