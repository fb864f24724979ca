"""Adoption: what an earlier release put on hosts without a record is recorded as gpustack's, where it is exactly what
the steps of this release write there."""

from collections.abc import Iterable, Mapping, Sequence

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.probes.control_plane.kubeadm import CONFIG
from gpustack.probes.host.declaration import read_declaration
from gpustack.probes.host.unrecorded import UNRECORDED
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.steps.other_cluster import servers_of_others

KUBELET = "/etc/kubernetes/kubelet.conf"


def list_adoptable(snapshot: Snapshot, names: Sequence[str] = ()) -> Mapping[str, tuple[str, ...]]:
    """List by host what is there, is declared and has no record; of the hosts with these names, all when empty.

    The data of a cluster is among it where the credentials of the host are of the cluster of the inventory, and its
    control plane was made by gpustack.
    """
    hosts = [host.name for host in snapshot.inventory.hosts if not names or host.name in names]
    found = {name: tuple(list_on_host(View(snapshot, name))) for name in hosts}
    return {name: paths for name, paths in found.items() if paths}


def list_on_host(here: View) -> Iterable[str]:
    try:
        paths = here[UNRECORDED]
        data = list_own_data(here, paths)
    except FactUnavailable:
        return ()
    every = {path for kinds in read_declaration().values() for path in kinds.get("data", ())}
    return (path for path in paths if path not in every or path in data)


def list_own_data(here: View, paths: Sequence[str]) -> tuple[str, ...]:
    """List the data of the cluster that its role on this host writes; none where it may be another cluster's."""
    if KUBELET not in paths or not here[LEFTOVERS].servers or servers_of_others(here):
        return ()
    if here.host.control_plane:
        return read_declaration()["control-plane"]["data"] if CONFIG in paths else ()
    return read_declaration()["workers"]["data"]


def adoption_variables(adoptable: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Build the variable `gpustack_adopt` of each host: playbooks/tasks/record-after.yml reads it."""
    return {name: {"gpustack_adopt": list(paths)} for name, paths in adoptable.items()}


def describe_adoptable(adoptable: Mapping[str, Sequence[str]]) -> str:
    """Describe what is taken over, a path on each line below its host."""
    if not adoptable:
        return "nothing without a record is on the hosts\n"
    lines = ["without a record; what is exactly as this release writes it is taken over:"]
    for name, paths in adoptable.items():
        lines += [f"  {name}", *(f"    {path}" for path in paths)]
    return "\n".join(lines) + "\n"
