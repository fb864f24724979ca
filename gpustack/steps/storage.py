"""Storage: a default StorageClass, where something wants to keep its data and the cluster has none.

A kubeadm cluster comes without one, and a claim then waits for ever. What is there already is used as it is; only where
there is no default class, local-path-provisioner is brought, from the pinned manifest of its release: volumes are
folders of the node that the pod runs on, and stay on that node.

Settings: monitoring.persistence, storage. Source: rancher/local-path-provisioner README.
"""

from gpustack.ask.judge import Mismatch, said
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.kube import add_reason
from gpustack.probes.storage import CLASSES, PROVISIONER
from gpustack.steps.control_plane import control_planes
from gpustack.steps.step import Step

OURS = "rancher.io/local-path"
NAME = "local-path-provisioner"


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.monitoring.persistence.enabled and control_planes(inventory, host)


def default_class(here: View) -> Mismatch | None:
    """The class that the spec names is there; without one, the cluster has one default class."""
    named, found = here.spec.monitoring.persistence.storage_class, here[CLASSES]
    names = [one.name for one in found]
    if named:
        hint = f"kubectl get storageclass; then correct monitoring.persistence.storage_class, there is no {named}"
        return None if named in names else Mismatch("StorageClass", named, said(names), cure="operator", hint=hint)
    if any(one.default for one in found):
        return None
    if here.spec.storage.provisioner == "none":
        hint = "make one the default, or set storage.provisioner of the spec to local-path"
        return Mismatch("default StorageClass", "one", f"none of {said(names)}", cure="operator", hint=hint)
    return Mismatch("default StorageClass", "one", "none")


def provisioner(here: View) -> Mismatch | None:
    """Where the default class is of our provisioner, that runs."""
    if not any(one.default and one.provisioner == OURS for one in here[CLASSES]):
        return None
    found = here[PROVISIONER].get(NAME)
    if found is None or not found.wanted:
        return Mismatch(NAME, "running", "scaled to nothing" if found else "nothing")
    return None if found.runs else Mismatch(NAME, "running", add_reason("not running", found.refused), passing=True)


STEP = Step(
    "storage",
    scope="cluster",
    probes=(CLASSES, PROVISIONER),
    checks=(default_class, provisioner),
    needs=("flannel",),
    settle=120,
    applies=applies,
)
