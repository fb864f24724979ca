"""What `gpustack reset` would take from each host, and what stays: one snapshot, judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.probes.host.owned_resources import OURS, Trace
from gpustack.probes.host.ownership import OWNERSHIP
from gpustack.probes.host.system import HOSTNAME, IDENTITY, OS
from gpustack.probes.kubelet.membership import MEMBERSHIP
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES
from gpustack.probes.packages.owned import PACKAGES_OF_OURS
from gpustack.probes.packages.software import OURS as MAIN
from gpustack.rollout.owned_things import UNKNOWN_HOST, HostOwnership, judge_things, list_undeclared
from gpustack.rollout.owned_traces import list_left, list_traces
from gpustack.steps.other_cluster import servers_of_others
from gpustack.steps.own_node import removable

PROBES: tuple[Probe[Any], ...] = (
    *OURS.values(), OWNERSHIP, MEMBERSHIP, PACKAGES_OF_OURS, LEFTOVERS, NODES, IDENTITY, ADDRESS, ADDRESSES, HOSTNAME,
    OS,
)  # fmt: skip


@dataclass(frozen=True)
class HostRemoval:
    """`cluster` says which cluster the host is in, empty for none; `foreign` why that is not ours to remove, empty when
    it is. `node` is its node in the cluster of the inventory (`drain`: it is Ready). `pods` is None when it cannot be
    told. `traces` by step, the last step first. `packages` go, `holds` are taken off; `stays` says what stays and why.
    `unknown` names what is unknown. `blocked` says why the record of the host cannot be used: then nothing may be
    removed there. `owned` is what scripts on the host may touch; `kubelet` tells whether the kubelet may be stopped."""

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
    stays: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    blocked: str = ""
    owned: HostOwnership = UNKNOWN_HOST
    kubelet: bool = False

    @property
    def due(self) -> bool:
        """There is something to take away, or it is unknown that there is nothing."""
        return bool(self.node or self.traces or self.packages or self.holds or self.unknown)


@dataclass(frozen=True)
class Removal:
    """`hosts` are those asked for that were reached, `unreached` the others of them. `orphans` are workers that are not
    asked for and would be left without a cluster. `distributions`: (host, name) of a Kubernetes of another kind."""

    snapshot: Snapshot
    hosts: tuple[HostRemoval, ...]
    unreached: tuple[str, ...]
    orphans: tuple[str, ...] = ()
    distributions: tuple[tuple[str, str], ...] = ()

    @property
    def due(self) -> tuple[HostRemoval, ...]:
        return tuple(one for one in self.hosts if one.due)

    @property
    def foreign(self) -> tuple[HostRemoval, ...]:
        return tuple(one for one in self.hosts if one.foreign)

    @property
    def blocked(self) -> tuple[HostRemoval, ...]:
        return tuple(one for one in self.hosts if one.blocked)


def removal(snapshot: Snapshot, names: Sequence[str], *, packages: bool = False, foreign: bool = False) -> Removal:
    """Judge the hosts with these names, all when empty. `foreign`: data of other clusters goes, too."""
    wanted = [host for host in snapshot.inventory.hosts if not names or host.name in names]
    reached = [host for host in wanted if snapshot.reach[host.name].reached]
    found = tuple(
        judge_host(snapshot, host, {host.name for host in wanted}, packages=packages, agreed=foreign)
        for host in reached
    )
    return Removal(
        snapshot,
        found,
        tuple(host.name for host in wanted if host not in reached),
        find_orphans(snapshot, {host.name for host in wanted}),
        tuple((host.name, name) for host in reached for name in distributions(View(snapshot, host.name))),
    )


def judge_host(snapshot: Snapshot, host: Host, wanted: set[str], *, packages: bool, agreed: bool) -> HostRemoval:
    here, unknown = View(snapshot, host.name), list[str]()
    present: dict[str, tuple[Trace, ...]] = {}
    for step, probe in OURS.items():
        try:
            present[step] = here[probe]
        except FactUnavailable as error:
            unknown.append(f"{step}: {error}")
    gone, holds, stays = judge_packages(
        here, {step for step, found in present.items() if found}, unknown, wanted=packages
    )
    owned, blocked = read_ownership(here, foreign=agreed, storage="containerd.io" in gone)
    traces = list_traces(present, owned) if not blocked else ()
    stays = (*stays, *list_left(present, owned), *read_undeclared(here))
    cluster, foreign, pods = "", "", None
    try:
        cluster, foreign = find_owner(here, owned)
        pods = here[MEMBERSHIP].pods
    except FactUnavailable as error:
        foreign = f"which cluster it is in is unknown: {error}"
    node, drain = "", False
    try:
        alone = (
            has_api(snapshot) and not removes_cluster(snapshot, wanted) and not (host.control_plane or host.standalone)
        )
        mine = removable(here) if alone else None
        node, drain = (mine.name, mine.ready) if mine else ("", False)
    except FactUnavailable as error:
        unknown.append(f"node of this host in the cluster: {error}")
    if blocked:
        unknown.append(f"what gpustack changed: {blocked}")
    return HostRemoval(
        host.name, host.control_plane, cluster, foreign, node, drain, pods, traces, gone, holds, stays,
        tuple(unknown), blocked, owned, kubelet=owned.cluster or not owned.others,
    )  # fmt: skip


def read_ownership(here: View, *, foreign: bool, storage: bool) -> tuple[HostOwnership, str]:
    """Read what may be changed, and why the record cannot be used; one of the two is empty."""
    try:
        found = here[OWNERSHIP]
    except FactUnavailable as error:
        return UNKNOWN_HOST, str(error)
    if found.error:
        return UNKNOWN_HOST, found.error
    return judge_things(found, foreign=foreign, storage=storage), ""


def read_undeclared(here: View) -> tuple[str, ...]:
    return tuple(list_undeclared(here[OWNERSHIP])) if here.available(OWNERSHIP) else ()


def removes_cluster(snapshot: Snapshot, wanted: set[str]) -> bool:
    """Every control plane goes: a cluster takes its nodes with it."""
    return {plane.name for plane in snapshot.inventory.control_planes} <= wanted


def has_api(snapshot: Snapshot) -> bool:
    """A control plane has, or may have, a cluster that could have nodes."""
    return any(
        not snapshot.reach[plane.name].reached or View(snapshot, plane.name)[LEFTOVERS].servers
        for plane in snapshot.inventory.control_planes
    )


def find_owner(here: View, owned: HostOwnership) -> tuple[str, str]:
    """(which cluster, why it is not ours), each empty when there is nothing to say. Raises FactUnavailable."""
    servers, found = here[LEFTOVERS].servers, here[MEMBERSHIP]
    name = found.cluster or (here.spec.cluster_name if servers and not servers_of_others(here) else "")
    cluster = " ".join(part for part in (name, f"at https://{servers[0]}" if servers else "") if part)
    if others := servers_of_others(here):
        return cluster, f"it is a node{f' ({found.node})' if found.node else ''} of another cluster, at {others[0]}"
    if here.host.control_plane and servers and not found.made:
        return cluster, "the control plane on it was not made by gpustack"
    if owned.others and not owned.cluster:
        shown = ", ".join(owned.others[:4]) + (", …" if len(owned.others) > 4 else "")
        return cluster, f"data of a cluster is on it that gpustack has no record of: {shown}"
    return cluster, ""


def judge_packages(
    here: View, traced: set[str], unknown: list[str], *, wanted: bool
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """(those that go, holds that are taken off, what stays and why). `traced` are the steps that left something."""
    try:
        found = here[PACKAGES_OF_OURS]
    except FactUnavailable as error:
        unknown.append(f"packages: {error}")
        return (), (), ()
    kept = found.kept()
    gone = tuple(name for name in found.ours if name not in kept) if wanted else ()
    stays = [f"package {name}: {who} needs it" for name, who in sorted(kept.items())] if wanted else []
    if not wanted and found.ours:
        names = ", ".join(sort_known_first(found.ours))
        stays.append(f"{len(found.ours)} packages that gpustack installed, {names}: --packages")
    if found.others and traced & {"containerd", "kubernetes"}:
        stays.append(f"packages {', '.join(found.others)}: apt's history does not say that gpustack installed them")
    return gone, found.held, tuple(stays)


def sort_known_first(names: Sequence[str]) -> list[str]:
    return [*(name for name in MAIN if name in names), *(name for name in names if name not in MAIN)]


def find_orphans(snapshot: Snapshot, wanted: set[str]) -> tuple[str, ...]:
    """Workers outside that are, or may be, in the cluster whose last control plane would go."""
    if not removes_cluster(snapshot, wanted):
        return ()
    outside = [host for host in snapshot.inventory.in_cluster if host.name not in wanted]
    return tuple(host.name for host in outside if is_in_cluster(View(snapshot, host.name)))


def is_in_cluster(here: View) -> bool:
    """Unknown counts as yes."""
    try:
        return bool(set(here[LEFTOVERS].servers) - set(servers_of_others(here)))
    except FactUnavailable:
        return True


def distributions(here: View) -> tuple[str, ...]:
    try:
        return here[LEFTOVERS].distributions
    except FactUnavailable:
        return ()
