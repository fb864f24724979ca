"""Reset: one playbook that undoes the steps on the hosts, then the same questions again."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter
from gpustack.probes.host.ownership import OWNERSHIP
from gpustack.probes.host.system import HOSTNAME, IDENTITY
from gpustack.probes.kubelet.membership import MEMBERSHIP
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES
from gpustack.rollout.next import build_command
from gpustack.rollout.plan import Played
from gpustack.rollout.removal import HostRemoval, Removal, removal

PLAYBOOK = "reset"
WHOSE: tuple[Probe[Any], ...] = (IDENTITY, HOSTNAME, ADDRESS, ADDRESSES, OWNERSHIP, MEMBERSHIP, LEFTOVERS, NODES)
"""Which machine a host is, and whose: asked again under the lock."""

Play = Callable[[Sequence[str], Mapping[str, Mapping[str, Any]]], Played]
"""Plays the playbook on hosts, each with further variables."""


@dataclass(frozen=True)
class ResetOutcome:
    """`before` is what was to go, `after` what the same questions find now. `seconds` for all of it."""

    before: Removal
    played: Played | None
    after: Removal
    seconds: float
    stopped: str = ""

    @property
    def left(self) -> tuple[HostRemoval, ...]:
        """Hosts on which something is known to be left, though it was to go."""
        return tuple(one for one in self.after.hosts if one.node or one.traces or one.packages or one.holds)

    @property
    def unknown(self) -> tuple[HostRemoval, ...]:
        return tuple(one for one in self.after.hosts if one.unknown)


def refuse_removal(before: Removal, *, foreign: bool) -> None:
    """Raises RolloutError for what must not be removed without a further option."""
    hosts = before.snapshot.inventory
    if before.distributions:
        why = "\n".join(f"{host}: {name}" for host, name in before.distributions)
        message = "Another kind of Kubernetes is on a host; nothing was removed."
        raise RolloutError("reset-distribution", message, why, Command("gpustack", "explain", "reset-distribution"))
    if before.blocked:
        why = "\n".join(f"{one.host}: {one.blocked}" for one in before.blocked)
        message = "What gpustack changed on a host is unknown; nothing was removed."
        hint = Command("gpustack", "explain", "ownership-record-unusable")
        raise RolloutError("ownership-record-unusable", message, why, hint)
    if before.foreign and not foreign:
        why = "\n".join(f"{one.host}: {one.foreign}" for one in before.foreign)
        names = ",".join(one.host for one in before.foreign)
        message = "A host is in a cluster that is not this inventory's; nothing was removed."
        hint = build_command(hosts, "reset").extend("--limit", names, "--foreign")
        raise RolloutError("reset-foreign", message, why, hint)
    if before.orphans:
        why = f"Without the control plane these hosts would be left without a cluster: {', '.join(before.orphans)}"
        message = "Only the control plane was named; nothing was removed."
        everything = build_command(hosts, "reset").extend(note="all of them, the workers first")
        raise RolloutError("reset-orphans", message, why, everything)


def ensure_unchanged(before: Removal, now: Removal) -> None:
    """Raises RolloutError where a host that was to be reset is another one by now, or in another cluster, but for pods.
    `now` needs no answers but those of WHOSE."""
    still = {one.host: one for one in now.hosts}
    found = []
    for one in before.due:
        if one.host not in still:
            found.append(f"{one.host}: it no longer responds")
            continue
        shown, here = describe(before.snapshot, one), describe(now.snapshot, still[one.host])
        found += [f"{one.host}: {what}: {shown[what]} -> {here[what]}" for what in shown if shown[what] != here[what]]
    if found:
        message = "Hosts are not what was shown; nothing was removed."
        raise RolloutError(
            "reset-changed-since", message, "\n".join(found), Command("gpustack", "reset", note="shows it anew")
        )


FACTS: Mapping[str, tuple[Probe[Any], Callable[[Any], str]]] = {
    "machine-id": (IDENTITY, lambda fact: fact.machine_id),
    "credentials of node": (MEMBERSHIP, lambda fact: fact.node),
    "control plane of gpustack": (MEMBERSHIP, lambda fact: "yes" if fact.made else ""),
    "CA of its cluster": (OWNERSHIP, lambda fact: fact.cluster or ""),
    "data of etcd": (MEMBERSHIP, lambda fact: "yes" if fact.etcd else ""),
    "API servers": (LEFTOVERS, lambda fact: ", ".join(fact.servers)),
    "another kind of Kubernetes": (LEFTOVERS, lambda fact: ", ".join(fact.distributions)),
}


def describe(snapshot: Snapshot, one: HostRemoval) -> dict[str, str]:
    """Which machine a host is, and whose, in words."""
    here, facts = View(snapshot, one.host), {"cluster": one.cluster or "none", "node": one.node or "none"}
    for what, (probe, read) in FACTS.items():
        try:
            facts[what] = read(here[probe]) or "none"
        except FactUnavailable as error:
            facts[what] = f"cannot be read ({error})"
    return facts


def reset(
    before: Removal,
    names: Sequence[str],
    gather: Callable[[], Snapshot],
    play: Play,
    report: Reporter,
    *,
    packages: bool,
    foreign: bool = False,
    cancelled: Callable[[], str] = lambda: "",
) -> ResetOutcome:
    """Never raises for a failing host or task: the outcome says what happened. `cancelled` says why to stop."""
    started = time.monotonic()
    hosts = [one.host for one in before.due]
    report(Event("step", PLAYBOOK, ", ".join(hosts)))
    played = play(hosts, {one.host: variables(before, one) for one in before.due}) if not cancelled() else None
    report(Event("done", PLAYBOOK, ""))
    after = removal(gather(), names, packages=packages, foreign=foreign)
    return ResetOutcome(before, played, after, time.monotonic() - started, cancelled())


def variables(before: Removal, found: HostRemoval) -> dict[str, Any]:
    """What the roles' tasks/reset.yml read: no more than what was shown."""
    spec = before.snapshot.inventory.spec
    return {
        "gpustack_reset": {
            "node": found.node,
            "drain": found.drain,
            "packages": list(found.packages),
            "holds": list(found.holds),
            "pod_cidr": str(spec.kubernetes.pod_cidr),
            "agreed": {
                one.path: {"action": one.action, "kind": one.kind, "state": one.state} for one in found.owned.agreements
            },
            "cluster": found.owned.cluster,
            "kubelet": found.kubelet,
            "edited": list(found.owned.edited),
        }
    }
