"""Storage: a default StorageClass, if persistent storage is requested and the cluster has none.

A kubeadm cluster has no StorageClass, and a claim then stays pending. An existing one is used as it is; only if there
is no default class is local-path-provisioner installed, from the pinned manifest of its release: volumes are
directories on the node that runs the pod, and stay on that node.

Settings: monitoring.persistence, storage. Source: rancher/local-path-provisioner README.
"""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.kubernetes.nodes import add_reason
from gpustack.probes.kubernetes.storage import CLASSES, PROVISIONER
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.step import Step

OURS = "rancher.io/local-path"
NAME = "local-path-provisioner"


def applies(inventory: Inventory, host: Host) -> bool:
    monitoring = inventory.spec.monitoring
    return monitoring.enabled and monitoring.persistence.enabled and control_planes(inventory, host)


def default_class(here: View) -> Result | None:
    """The class named in the spec exists; if the spec names none, the cluster has one default class."""
    named, found = here.spec.monitoring.persistence.storage_class, here[CLASSES]
    names = [one.name for one in found]
    if named:
        hint = Prose(
            "kubectl get storageclass; then correct monitoring.persistence.storage_class, there is no {}", named
        )
        return None if named in names else Result("StorageClass", named, as_text(names), cure="operator", hint=hint)
    if any(one.default for one in found):
        return None
    if here.spec.storage.provisioner == "none":
        hint = Prose(
            "make one the default, or set storage.provisioner to local-path, or monitoring.persistence.enabled to false"
        )
        return Result("default StorageClass", "one", f"none of {as_text(names)}", cure="operator", hint=hint)
    return Result("default StorageClass", "one", "none")


def provisioner(here: View) -> Result | None:
    """If the default class uses our provisioner, the provisioner is running."""
    if not any(one.default and one.provisioner == OURS for one in here[CLASSES]):
        return None
    found = here[PROVISIONER].get(NAME)
    if found is None or not found.wanted:
        return Result(NAME, "running", "scaled to 0" if found else "nothing")
    return None if found.runs else Result(NAME, "running", add_reason("not running", found.refused), passing=True)


STEP = Step(
    "storage",
    scope="cluster",
    probes=(CLASSES, PROVISIONER),
    checks=(default_class, provisioner),
    needs=("control-plane",),
    follows=("flannel", "workers"),
    settle=120,
    pulls=True,
    applies=applies,
)
