"""The proof that the host of a node is dead: it gives SSH no answer, and its kubelet has long been silent.

Ages are by the clock of the control plane, as the leases of its own programs have it. A host that is only cut off from
the network looks the same; its pods may still run.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.node_leases import NODE_LEASES
from gpustack.probes.kubernetes.node_records import NodeRecord
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.scheduling import LEASE_RENEWAL
from gpustack.times import format_duration

LEAST_SILENCE = timedelta(minutes=5)
"""A boot takes less, and the API evicts pods of a node that is not Ready after as long."""


@dataclass(frozen=True)
class HostSilence:
    """Hold what tells that the host of a node is dead. `host` is its name in the inventory, empty where it is unknown.
    `objections` are the reasons for which that is not proven. `renewed_at` is when its kubelet was last heard of."""

    host: str
    signs: tuple[str, ...]
    objections: tuple[str, ...]
    renewed_at: datetime | None = None


def judge_silence(snapshot: Snapshot, node: NodeRecord) -> HostSilence:
    """Judge whether the host of a node is dead. What is unknown is an objection."""
    hosts = find_hosts_of_address(snapshot, node)
    known_host = hosts[0].name if len(hosts) == 1 else ""
    signs, objections = list[str](), list(list_live_signs(snapshot, node, {host.name for host in hosts}))
    if known_host:
        reach = snapshot.reach[known_host]
        if not reach.reached:
            (signs if reach.silent else objections).append(f"SSH to {known_host}: {reach.reason}")
    else:
        names = ", ".join(host.name for host in hosts)
        objections.append(
            f"several hosts of the inventory have its name or address: {names}"
            if hosts
            else "no host of the inventory has its name or address, so that SSH cannot ask it"
        )
    (objections if node.ready else signs).append(
        f"its node is {'Ready' if node.ready else f'not Ready: {node.reason}'}"
    )
    try:
        renewed_at, age = read_lease_age(View(snapshot, CLUSTER), node)
    except FactUnavailable as error:
        reason = f"when its kubelet was heard of is unknown: {error}"
        return HostSilence(known_host, tuple(signs), (*objections, reason))
    text = f"its kubelet was heard of {format_duration(age.total_seconds())} ago"
    if age < LEAST_SILENCE:
        objections.append(f"{text}, and {format_duration(LEAST_SILENCE.total_seconds())} are needed")
    else:
        signs.append(text)
    return HostSilence(known_host, tuple(signs), tuple(objections), renewed_at)


def find_hosts_of_address(snapshot: Snapshot, record: NodeRecord) -> list[Host]:
    """Find the hosts of the inventory with the name or the InternalIP of a node: a dead host tells no machine-id."""
    view = View(snapshot, CLUSTER)
    nodes = view[NODES] if view.has_fact(NODES) else ()
    claims = {record.name, *(node.address for node in nodes if node.name == record.name and node.address)}
    return [host for host in snapshot.inventory.cluster_hosts if claims & host.identifiers]


def list_live_signs(snapshot: Snapshot, node: NodeRecord, suspects: Collection[str]) -> Iterator[str]:
    """List the hosts that answered and are, or may be, the host of the node. `suspects` have its name or address."""
    for host in snapshot.inventory.hosts:
        view, reach = View(snapshot, host.name), snapshot.reach.get(host.name)
        if reach is None or not reach.reached:
            continue
        if view.has_fact(IDENTITY) and view[IDENTITY].machine_id == node.machine_id:
            yield f"SSH reaches {host.name}, which has its machine-id"
        elif host.name in suspects:
            yield f"SSH reaches {host.name}, which has its name or address"


def read_lease_age(view: View, node: NodeRecord) -> tuple[datetime, timedelta]:
    """Read when the kubelet of a node was last heard of, and how long ago. Raise FactUnavailable where that is
    unknown."""
    current_time, lease = view[LEASE_RENEWAL], view[NODE_LEASES].get(node.name)
    if current_time is None or lease is None:
        missing = "no program of the control plane has a lease" if current_time is None else "its kubelet has no lease"
        raise FactUnavailable(missing)
    renewed_at = max(time for time in (lease, node.reported_at) if time)
    if renewed_at > current_time + timedelta(minutes=1):
        raise FactUnavailable("its lease is of a later time than those of the control plane: clocks differ")
    return renewed_at, current_time - renewed_at
