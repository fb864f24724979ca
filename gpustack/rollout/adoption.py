"""The adoption of what an earlier release put on hosts without a record.

It is recorded as gpustack's where it is exactly what the steps of this release write there.
"""

from collections.abc import Iterable, Mapping, Sequence

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.probes.control_plane.kubeadm import CONFIG
from gpustack.probes.host.declaration import read_declaration
from gpustack.probes.host.unrecorded_paths import UNRECORDED_PATHS
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.steps.other_cluster import find_foreign_servers

KUBELET = "/etc/kubernetes/kubelet.conf"


def list_adoptable(snapshot: Snapshot, names: Sequence[str] = ()) -> Mapping[str, tuple[str, ...]]:
    """List by host the paths that exist, are declared and have no record, of the hosts with these names, all when
    empty.

    Data of a cluster is listed where the credentials of the host are of the cluster of the inventory, and its control
    plane was made by gpustack.
    """
    hosts = [host.name for host in snapshot.inventory.hosts if not names or host.name in names]
    adoptable = {name: tuple(list_adoptable_paths(View(snapshot, name))) for name in hosts}
    return {name: paths for name, paths in adoptable.items() if paths}


def list_adoptable_paths(view: View) -> Iterable[str]:
    try:
        paths = view[UNRECORDED_PATHS]
        own_data = list_cluster_data(view, paths)
    except FactUnavailable:
        return ()
    declared_data = {path for kinds in read_declaration().values() for path in kinds.get("data", ())}
    return (path for path in paths if path not in declared_data or path in own_data)


def list_cluster_data(view: View, paths: Sequence[str]) -> tuple[str, ...]:
    """List the data of the cluster that its role on this host writes; none where it may be another cluster's."""
    if KUBELET not in paths or not view[LEFTOVERS].servers or find_foreign_servers(view):
        return ()
    if view.host.control_plane:
        return read_declaration()["control-plane"]["data"] if CONFIG in paths else ()
    return read_declaration()["workers"]["data"]


def build_adoption_variables(adoptable: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Build the variable `gpustack_adopt` of each host, which playbooks/tasks/record-after.yml reads."""
    return {name: {"gpustack_adopt": list(paths)} for name, paths in adoptable.items()}


def describe_adoptable(adoptable: Mapping[str, Sequence[str]]) -> str:
    """Describe what is adopted, a path on each line below its host."""
    if not adoptable:
        return "nothing without a record is on the hosts\n"
    lines = ["without a record; what is exactly as this release writes it is taken over:"]
    for name, paths in adoptable.items():
        lines += [f"  {name}", *(f"    {path}" for path in paths)]
    return "\n".join(lines) + "\n"
