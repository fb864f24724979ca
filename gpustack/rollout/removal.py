"""The judgement of what `gpustack reset` removes from each host, and what stays, by one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.probes.host.owned_resources import RESOURCE_PROBES, Trace
from gpustack.probes.host.ownership import OWNERSHIP
from gpustack.probes.host.system import HOSTNAME, IDENTITY, OS
from gpustack.probes.kubelet.membership import MEMBERSHIP
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES
from gpustack.probes.packages.managed_packages import MANAGED_PACKAGES
from gpustack.probes.packages.software import MAIN_PACKAGES as MAIN
from gpustack.rollout.host_ownership import UNKNOWN_HOST, HostOwnership, judge_things, list_undeclared
from gpustack.rollout.host_traces import list_kept_resources, list_traces
from gpustack.steps.other_cluster import find_foreign_servers
from gpustack.steps.own_node import find_removable_node
from gpustack.steps.platform_namespaces import list_platform_namespaces

PROBES: tuple[Probe[Any], ...] = (
    *RESOURCE_PROBES.values(), OWNERSHIP, MEMBERSHIP, MANAGED_PACKAGES, LEFTOVERS, NODES, IDENTITY, ADDRESS, ADDRESSES,
    HOSTNAME, OS,
)  # fmt: skip


@dataclass(frozen=True)
class HostRemoval:
    """Describe what a reset removes from a host. `cluster` says which cluster the host is in, empty for none; `foreign`
    why that is not gpustack's to remove, empty when it is. `node` is its node in the cluster of the inventory (`drain`:
    it is Ready). `pods` is None when they are unknown. `traces` are listed by step, the last step first. `packages` are
    removed, `holds` are taken off; `kept_resources` says what stays and why. `unknown` names what is unknown.
    `record_error` says why the record of the host cannot be used: then nothing may be removed there. `ownership` is
    what scripts on the host may touch; `kubelet` tells whether the kubelet may be stopped."""

    host: str
    control_plane: bool
    cluster: str = ""
    foreign: str = ""
    node: str = ""
    drain: bool = False
    pods: tuple[str, ...] | None = ()
    traces: tuple[tuple[str, tuple[Trace, ...]], ...] = ()
    packages: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    kept_resources: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    record_error: str = ""
    ownership: HostOwnership = UNKNOWN_HOST
    kubelet: bool = False

    @property
    def due(self) -> bool:
        """Tell whether there is something to remove, or it is unknown that there is nothing."""
        return bool(self.node or self.traces or self.packages or self.holds or self.unknown)


@dataclass(frozen=True)
class Removal:
    """Describe a reset. `hosts` are those of the chosen hosts that were reached, `unreachable_hosts` the others of
    them. `orphans` are workers that were not chosen and would be left without a cluster. `distributions` has (host,
    name) of a Kubernetes of another kind."""

    snapshot: Snapshot
    hosts: tuple[HostRemoval, ...]
    unreachable_hosts: tuple[str, ...]
    orphans: tuple[str, ...] = ()
    distributions: tuple[tuple[str, str], ...] = ()

    @property
    def platform_namespaces(self) -> frozenset[str]:
        """Return the namespaces of gpustack and Kubernetes."""
        return list_platform_namespaces(View(self.snapshot, CLUSTER))

    @property
    def due_hosts(self) -> tuple[HostRemoval, ...]:
        return tuple(host for host in self.hosts if host.due)

    @property
    def foreign_hosts(self) -> tuple[HostRemoval, ...]:
        return tuple(host for host in self.hosts if host.foreign)

    @property
    def blocked_hosts(self) -> tuple[HostRemoval, ...]:
        return tuple(host for host in self.hosts if host.record_error)


def judge_removal(
    snapshot: Snapshot, names: Sequence[str], *, packages: bool = False, foreign: bool = False
) -> Removal:
    """Judge the hosts with these names, all when empty. `foreign` allows the removal of data of other clusters."""
    chosen_hosts = [host for host in snapshot.inventory.hosts if not names or host.name in names]
    reached_hosts = [host for host in chosen_hosts if snapshot.reach[host.name].reached]
    host_removals = tuple(
        judge_host(snapshot, host, {host.name for host in chosen_hosts}, packages=packages, allow_foreign=foreign)
        for host in reached_hosts
    )
    return Removal(
        snapshot,
        host_removals,
        tuple(host.name for host in chosen_hosts if host not in reached_hosts),
        find_orphans(snapshot, {host.name for host in chosen_hosts}),
        tuple((host.name, name) for host in reached_hosts for name in find_distributions(View(snapshot, host.name))),
    )


def judge_host(snapshot: Snapshot, host: Host, names: set[str], *, packages: bool, allow_foreign: bool) -> HostRemoval:
    view, unknown = View(snapshot, host.name), list[str]()
    present: dict[str, tuple[Trace, ...]] = {}
    for step, probe in RESOURCE_PROBES.items():
        try:
            present[step] = view[probe]
        except FactUnavailable as error:
            unknown.append(f"{step}: {error}")
    removed_packages, holds, kept_resources = judge_packages(
        view, {step for step, step_traces in present.items() if step_traces}, unknown, remove_packages=packages
    )
    ownership, record_error = read_ownership(view, foreign=allow_foreign, storage="containerd.io" in removed_packages)
    traces = list_traces(present, ownership) if not record_error else ()
    kept_resources = (*kept_resources, *list_kept_resources(present, ownership), *read_undeclared(view))
    cluster, foreign, pods = "", "", None
    try:
        cluster, foreign = find_cluster_and_objection(view, ownership)
        pods = view[MEMBERSHIP].pods
    except FactUnavailable as error:
        foreign = f"which cluster it is in is unknown: {error}"
    node, drain = "", False
    try:
        alone = (
            has_api(snapshot)
            and not includes_control_planes(snapshot, names)
            and not (host.control_plane or host.standalone)
        )
        own_node = find_removable_node(view) if alone else None
        node, drain = (own_node.name, own_node.ready) if own_node else ("", False)
    except FactUnavailable as error:
        unknown.append(f"node of this host in the cluster: {error}")
    if record_error:
        unknown.append(f"what gpustack changed: {record_error}")
    return HostRemoval(
        host.name, host.control_plane, cluster, foreign, node, drain, pods, traces, removed_packages, holds,
        kept_resources, tuple(unknown), record_error, ownership,
        kubelet=ownership.cluster or not ownership.foreign_data,
    )  # fmt: skip


def read_ownership(view: View, *, foreign: bool, storage: bool) -> tuple[HostOwnership, str]:
    """Read what may be changed, and why the record cannot be used; one of the two is empty."""
    try:
        ownership = view[OWNERSHIP]
    except FactUnavailable as error:
        return UNKNOWN_HOST, str(error)
    if ownership.error:
        return UNKNOWN_HOST, ownership.error
    return judge_things(ownership, foreign=foreign, storage=storage), ""


def read_undeclared(view: View) -> tuple[str, ...]:
    return tuple(list_undeclared(view[OWNERSHIP])) if view.has_fact(OWNERSHIP) else ()


def includes_control_planes(snapshot: Snapshot, names: set[str]) -> bool:
    """Tell whether every control plane is among these hosts: a cluster takes its nodes with it."""
    return {plane.name for plane in snapshot.inventory.control_planes} <= names


def has_api(snapshot: Snapshot) -> bool:
    """Tell whether a control plane has, or may have, a cluster that could have nodes."""
    return any(
        not snapshot.reach[plane.name].reached or View(snapshot, plane.name)[LEFTOVERS].servers
        for plane in snapshot.inventory.control_planes
    )


def find_cluster_and_objection(view: View, ownership: HostOwnership) -> tuple[str, str]:
    """Find the cluster that a host belongs to, and why gpustack must not remove it. The first is empty for a host in no
    cluster, the second where nothing objects. Raise FactUnavailable."""
    servers, membership = view[LEFTOVERS].servers, view[MEMBERSHIP]
    name = membership.cluster or (view.spec.cluster_name if servers and not find_foreign_servers(view) else "")
    cluster = " ".join(part for part in (name, f"at https://{servers[0]}" if servers else "") if part)
    if foreign_servers := find_foreign_servers(view):
        node = f"a node ({membership.node})" if membership.node else "a node"
        return cluster, f"it is {node} of another cluster, at {foreign_servers[0]}"
    if view.host.control_plane and servers and not membership.is_managed:
        return cluster, "the control plane on it was not made by gpustack"
    if ownership.foreign_data and not ownership.cluster:
        data_paths = ", ".join(ownership.foreign_data[:4]) + (", …" if len(ownership.foreign_data) > 4 else "")
        return cluster, f"data of a cluster is on it that gpustack has no record of: {data_paths}"
    return cluster, ""


def judge_packages(
    view: View, traced_steps: set[str], unknown: list[str], *, remove_packages: bool
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the packages that are removed, the holds that are taken off, and what stays and why. `traced_steps` are
    the steps that left something on the host."""
    try:
        packages = view[MANAGED_PACKAGES]
    except FactUnavailable as error:
        unknown.append(f"packages: {error}")
        return (), (), ()
    needed_packages = packages.find_needed_packages()
    removed_packages, kept_resources = tuple[str, ...](), list[str]()
    if remove_packages:
        removed_packages = tuple(name for name in packages.managed_packages if name not in needed_packages)
        kept_resources += [
            f"package {name}: {dependent} needs it" for name, dependent in sorted(needed_packages.items())
        ]
    elif packages.managed_packages:
        names = ", ".join(sort_known_first(packages.managed_packages))
        option = Command("gpustack", "reset", "--packages")
        kept_resources.append(
            f"{len(packages.managed_packages)} packages that gpustack installed, {names}: {option} removes them"
        )
    if packages.foreign_packages and traced_steps & {"containerd", "kubernetes"}:
        kept_resources.append(
            f"packages {', '.join(packages.foreign_packages)}: apt's history does not say that gpustack installed them"
        )
    return removed_packages, packages.held_packages, tuple(kept_resources)


def sort_known_first(names: Sequence[str]) -> list[str]:
    return [*(name for name in MAIN if name in names), *(name for name in names if name not in MAIN)]


def find_orphans(snapshot: Snapshot, names: set[str]) -> tuple[str, ...]:
    """Find workers outside these names that are, or may be, in the cluster whose last control plane would be
    removed."""
    if not includes_control_planes(snapshot, names):
        return ()
    other_hosts = [host for host in snapshot.inventory.cluster_hosts if host.name not in names]
    return tuple(host.name for host in other_hosts if is_in_cluster(View(snapshot, host.name)))


def is_in_cluster(view: View) -> bool:
    """Tell whether a host is in the cluster of the inventory. An unknown one counts as in it."""
    try:
        return bool(set(view[LEFTOVERS].servers) - set(find_foreign_servers(view)))
    except FactUnavailable:
        return True


def find_distributions(view: View) -> tuple[str, ...]:
    try:
        return view[LEFTOVERS].distributions
    except FactUnavailable:
        return ()
