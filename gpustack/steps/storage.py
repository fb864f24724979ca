"""Storage: a default StorageClass, if persistent storage is requested and the cluster has none.

A kubeadm cluster has no StorageClass, and a claim then stays pending. An existing one is used as it is; only if there
is no default class is local-path-provisioner installed, from the pinned manifest of its release: volumes are
directories on the node that runs the pod, and stay on that node.

Settings: monitoring.persistence, storage. Source: rancher/local-path-provisioner README.
"""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.probes.kubernetes.storage import CLASSES, PROVISIONER
from gpustack.steps.step import Step
from gpustack.steps.workloads import find_stopped_deployment

LOCAL_PATH = "rancher.io/local-path"
NAME = "local-path-provisioner"


def default_class(view: View) -> Result | None:
    """The class named in the spec exists; if the spec names none, the cluster has one default class."""
    class_name, storage_classes = view.spec.monitoring.persistence.storage_class, view[CLASSES]
    names = [storage_class.name for storage_class in storage_classes]
    if class_name:
        hint = Prose(
            "kubectl get storageclass; then correct monitoring.persistence.storage_class, there is no {}", class_name
        )
        if class_name in names:
            return None
        return Result("StorageClass", class_name, format_value(names), cure="operator", hint=hint)
    if any(storage_class.default for storage_class in storage_classes):
        return None
    if view.spec.storage.provisioner == "none":
        hint = Prose(
            "make one the default, or set storage.provisioner to local-path, or monitoring.persistence.enabled to false"
        )
        return Result("default StorageClass", "one", f"none of {format_value(names)}", cure="operator", hint=hint)
    return Result("default StorageClass", "one", "none")


def provisioner(view: View) -> Result | None:
    """If the default class uses the provisioner of gpustack, the provisioner is running."""
    if not any(storage_class.default and storage_class.provisioner == LOCAL_PATH for storage_class in view[CLASSES]):
        return None
    return find_stopped_deployment(NAME, view[PROVISIONER])


STEP = Step(
    "storage",
    scope="cluster",
    probes=(CLASSES, PROVISIONER),
    checks=(default_class, provisioner),
    needs=("control-plane",),
    predecessors=("flannel", "workers"),
    settle_seconds=120,
    pulls=True,
    is_enabled=lambda inventory: inventory.spec.monitoring.enabled and inventory.spec.monitoring.persistence.enabled,
)
