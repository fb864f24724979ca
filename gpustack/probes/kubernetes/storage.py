"""Storage: the classes of volumes, and the provisioner that gpustack installs."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.kubernetes.workloads import FIELDS, parse_workloads

DEFAULT = "storageclass.kubernetes.io/is-default-class"


@dataclass(frozen=True)
class StorageClass:
    """Describe a class. `default`: a claim that names no class gets this one."""

    name: str
    provisioner: str
    default: bool


@dataclass(frozen=True)
class Claim:
    """Describe a PersistentVolumeClaim. `storage_class` is None where it takes the default one."""

    name: str
    storage_class: str | None
    phase: str


def parse_claims(answer: Answer) -> tuple[Claim, ...]:
    return tuple(
        Claim(entry["metadata"]["name"], entry.get("spec", {}).get("storageClassName"), entry["status"]["phase"])
        for entry in list_objects(answer)
    )


def parse_storage_classes(answer: Answer) -> tuple[StorageClass, ...]:
    return tuple(
        StorageClass(
            entry["metadata"]["name"],
            entry["provisioner"],
            entry["metadata"].get("annotations", {}).get(DEFAULT) == "true",
        )
        for entry in list_objects(answer)
    )


CLASSES = Probe(
    "storage.classes",
    Api("/apis/storage.k8s.io/v1/storageclasses", ("metadata.name", "metadata.annotations", "provisioner")),
    parse_storage_classes,
)
PROVISIONER = Probe(
    "storage.provisioner", Api("/apis/apps/v1/namespaces/local-path-storage/deployments", FIELDS), parse_workloads
)
CLAIMS = Probe(
    "monitoring.claims",
    Api(
        "/api/v1/namespaces/$MONITORING/persistentvolumeclaims",
        ("metadata.name", "spec.storageClassName", "status.phase"),
    ),
    parse_claims,
)
