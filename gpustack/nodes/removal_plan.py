"""The plan of a removal of a node: what would be lost, and what stands against it. Nothing is changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.errors import GpustackError, RolloutError, UnreachableError
from gpustack.nodes.drain_plan import PROBES as DRAIN_PROBES
from gpustack.nodes.drain_plan import DrainPlan, plan_drain, refuse_drain
from gpustack.nodes.host_silence import HostSilence, judge_silence
from gpustack.probes.kubernetes.local_volumes import LOCAL_VOLUMES, LocalVolume
from gpustack.probes.kubernetes.node_leases import NODE_LEASES
from gpustack.probes.kubernetes.scheduling import LEASE_RENEWAL
from gpustack.rollout.next_command import build_command
from gpustack.rollout.removal import Removal
from gpustack.rollout.reset import refuse_removal

PROBES: tuple[Probe[Any], ...] = (*DRAIN_PROBES, NODE_LEASES, LEASE_RENEWAL, LOCAL_VOLUMES)


@dataclass(frozen=True)
class RemovalPlan:
    """Hold what a removal would do. `volumes` have their data on the node alone. `silence` is judged where the host is
    to be dead, and `reset` is what would be removed from a host that answers."""

    drain: DrainPlan
    volumes: tuple[LocalVolume, ...]
    ended_pods: tuple[str, ...] = ()
    silence: HostSilence | None = None
    reset: Removal | None = None

    @property
    def host(self) -> str:
        """Return the name of the node's host, empty where it is unknown."""
        return self.silence.host if self.silence else self.drain.host

    @property
    def refusals(self) -> tuple[GpustackError, ...]:
        return tuple(list_refusals(self))


def plan_node_removal(
    snapshot: Snapshot, name: str, ended_pods: Sequence[str] = (), *, is_dead: bool = False
) -> RemovalPlan:
    """Plan the removal of a node. Raise UsageError for an unknown node or pod, and UnreachableError where the API does
    not tell what is on it."""
    drain = plan_drain(snapshot, name, ended_pods)
    try:
        volumes = View(snapshot, CLUSTER)[LOCAL_VOLUMES]
    except FactUnavailable as error:
        message = "Which volumes have their data on the node is not known; nothing was changed."
        raise UnreachableError("node-no-api", message, str(error), Command("gpustack", "verify")) from error
    own_volumes = tuple(volume for volume in volumes if name in volume.nodes)
    silence = judge_silence(snapshot, drain.node) if is_dead else None
    return RemovalPlan(drain, own_volumes, tuple(ended_pods), silence)


def add_reset(plan: RemovalPlan, reset: Removal) -> RemovalPlan:
    """Add what would be removed from the host. Its pods have left by then: the drain of the reset has nothing to do."""
    hosts = tuple(replace(host_removal, drain=False) for host_removal in reset.hosts)
    return replace(plan, reset=replace(reset, hosts=hosts))


def list_refusals(plan: RemovalPlan) -> Iterator[GpustackError]:
    """List what stands against a removal, the weightiest first."""
    name, inventory = plan.drain.node.name, plan.drain.snapshot.inventory
    if plan.host in {plane.name for plane in inventory.control_planes}:
        reason = (
            f"{plan.host} is the only control plane: without it there is no cluster."
            if len(inventory.control_planes) == 1
            else f"etcd on {plan.host} is a member of the cluster's etcd, and counts for its quorum when it is gone."
        )
        yield RolloutError("node-control-plane", f"{name} is a control plane; nothing was changed.", reason)
    if plan.silence:
        if plan.silence.objections:
            message = f"It is not proven that the host of {name} is dead; nothing was changed."
            hint = build_command(inventory, "node", "remove", name)
            yield RolloutError("node-not-dead", message, "\n".join(plan.silence.objections), hint)
        return
    if not plan.host:
        message = f"The host of {name} is unknown; nothing was changed."
        hint = build_command(inventory, "node", "remove", name, "--dead").extend(note="where the host is dead")
        yield RolloutError("node-host-unknown", message, plan.drain.unknown_holders_reason, hint)
        return
    try:
        refuse_drain(plan.drain, plan.ended_pods, ["node", "remove", name])
    except GpustackError as error:
        yield error
    yield from list_reset_refusals(plan)


def list_reset_refusals(plan: RemovalPlan) -> Iterator[GpustackError]:
    if plan.reset is None:
        return
    try:
        refuse_removal(plan.reset, foreign=False)
    except GpustackError as error:
        yield error
    if not any(host_removal.node == plan.drain.node.name for host_removal in plan.reset.hosts):
        reasons = [reason for host_removal in plan.reset.hosts for reason in host_removal.unknown]
        message = f"It is not known that {plan.host} has the node {plan.drain.node.name}; nothing was changed."
        yield RolloutError("node-host-unknown", message, "\n".join(reasons))
