"""The reset: one playbook that undoes the steps on the hosts, then the same questions again."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint
from gpustack.errors import RolloutError
from gpustack.events import INTERRUPTION, Event, Reporter
from gpustack.exit_status import ExitStatus, select_status
from gpustack.probes.host.ownership import OWNERSHIP
from gpustack.probes.host.system import HOSTNAME, IDENTITY
from gpustack.probes.kubelet.membership import MEMBERSHIP
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES
from gpustack.rollout.next_command import build_command
from gpustack.rollout.plan import PlaybookRun
from gpustack.rollout.removal import HostRemoval, Removal, judge_removal

PLAYBOOK = "reset"
IDENTITY_PROBES: tuple[Probe[Any], ...] = (
    IDENTITY,
    HOSTNAME,
    ADDRESS,
    ADDRESSES,
    OWNERSHIP,
    MEMBERSHIP,
    LEFTOVERS,
    NODES,
)
"""These say which machine a host is, and whose. They are asked again under the lock."""

Play = Callable[[Sequence[str], Mapping[str, Mapping[str, Any]]], PlaybookRun]
"""Such a function plays the playbook on hosts, each with further variables."""


@dataclass(frozen=True)
class ResetOutcome:
    """Describe a run of `reset`. `before` is what was to be removed, `after` what the same questions find now.
    `seconds` is the time for all of it."""

    before: Removal
    playbook_run: PlaybookRun | None
    after: Removal
    seconds: float
    stop_reason: str = ""

    @property
    def incomplete_hosts(self) -> tuple[HostRemoval, ...]:
        """Return the hosts that still have something that the reset was to remove."""
        return tuple(host for host in self.after.hosts if host.node or host.traces or host.packages or host.holds)

    @property
    def unknown(self) -> tuple[HostRemoval, ...]:
        return tuple(host for host in self.after.hosts if host.unknown)

    @property
    def next_command(self) -> Hint:
        """Return the command that continues an incomplete reset."""
        inventory, names = self.before.snapshot.inventory, [host.host for host in self.before.hosts]
        if not (self.stop_reason or self.incomplete_hosts or (self.playbook_run and self.playbook_run.failures)):
            return NO_HINT
        is_partial = len(names) + len(self.before.unreachable_hosts) < len(inventory.hosts)
        return build_command(inventory, "reset").extend(*(["--limit", ",".join(names)] if is_partial else []))

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(
            interrupted=self.stop_reason == INTERRUPTION,
            failed=self.stop_reason or (self.playbook_run and self.playbook_run.failures),
            incomplete=self.incomplete_hosts,
            unknown=self.unknown or self.after.unreachable_hosts,
        )


def build_idle_outcome(removal: Removal) -> ResetOutcome:
    """Build the outcome of a `reset` that found nothing to remove, and ran nothing."""
    return ResetOutcome(removal, None, removal, removal.snapshot.seconds)


def refuse_removal(before: Removal, *, foreign: bool) -> None:
    """Raise RolloutError for what must not be removed without a further option."""
    hosts = before.snapshot.inventory
    if before.distributions:
        reason = "\n".join(f"{host}: {name}" for host, name in before.distributions)
        message = "Another kind of Kubernetes is on a host; nothing was removed."
        raise RolloutError("reset-distribution", message, reason)
    if before.blocked_hosts:
        reason = "\n".join(f"{host_removal.host}: {host_removal.record_error}" for host_removal in before.blocked_hosts)
        message = "What gpustack changed on a host is unknown; nothing was removed."
        raise RolloutError("ownership-record-unusable", message, reason)
    if before.foreign_hosts and not foreign:
        reason = "\n".join(
            f"{foreign_removal.host}: {foreign_removal.foreign}" for foreign_removal in before.foreign_hosts
        )
        names = ",".join(removed_host.host for removed_host in before.foreign_hosts)
        message = "A host is in a cluster that is not this inventory's; nothing was removed."
        hint = build_command(hosts, "reset").extend("--limit", names, "--foreign")
        raise RolloutError("reset-foreign", message, reason, hint)
    if before.orphans:
        reason = f"Without the control plane these hosts would be left without a cluster: {', '.join(before.orphans)}"
        message = "Only the control plane was named; nothing was removed."
        hint_all = build_command(hosts, "reset").extend(note="all of them, the workers first")
        raise RolloutError("reset-orphans", message, reason, hint_all)


def ensure_unchanged(before: Removal, current: Removal) -> None:
    """Raise RolloutError where a host that was to be reset is another one by now, or in another cluster. Pods may have
    changed. `current` needs no answers but those of IDENTITY_PROBES."""
    current_hosts = {host_removal.host: host_removal for host_removal in current.hosts}
    changes = []
    for due_removal in before.due_hosts:
        if due_removal.host not in current_hosts:
            changes.append(f"{due_removal.host}: it no longer responds")
            continue
        shown_facts, current_facts = (
            describe(before.snapshot, due_removal),
            describe(current.snapshot, current_hosts[due_removal.host]),
        )
        changes += [
            f"{due_removal.host}: {fact}: {shown_facts[fact]} -> {current_facts[fact]}"
            for fact in shown_facts
            if shown_facts[fact] != current_facts[fact]
        ]
    if changes:
        message = "Hosts are not what was shown; nothing was removed."
        raise RolloutError(
            "reset-changed-since", message, "\n".join(changes), Command("gpustack", "reset", note="shows it anew")
        )


FACTS: Mapping[str, tuple[Probe[Any], Callable[[Any], str]]] = {
    "machine-id": (IDENTITY, lambda fact: fact.machine_id),
    "credentials of node": (MEMBERSHIP, lambda fact: fact.node),
    "control plane of gpustack": (MEMBERSHIP, lambda fact: "yes" if fact.is_managed else ""),
    "CA of its cluster": (OWNERSHIP, lambda fact: fact.cluster or ""),
    "data of etcd": (MEMBERSHIP, lambda fact: "yes" if fact.etcd else ""),
    "API servers": (LEFTOVERS, lambda fact: ", ".join(fact.servers)),
    "another kind of Kubernetes": (LEFTOVERS, lambda fact: ", ".join(fact.distributions)),
}


def describe(snapshot: Snapshot, host_removal: HostRemoval) -> dict[str, str]:
    """Describe in words which machine a host is, and whose."""
    view, facts = (
        View(snapshot, host_removal.host),
        {"cluster": host_removal.cluster or "none", "node": host_removal.node or "none"},
    )
    for fact, (probe, read) in FACTS.items():
        try:
            facts[fact] = read(view[probe]) or "none"
        except FactUnavailable as error:
            facts[fact] = f"cannot be read ({error})"
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
    find_stop_reason: Callable[[], str] = lambda: "",
) -> ResetOutcome:
    """Reset the hosts. Nothing is raised for a failing host or task: the outcome says what happened. `find_stop_reason`
    says why to stop."""
    started_at = time.monotonic()
    hosts = [host_removal.host for host_removal in before.due_hosts]
    report(Event("step", PLAYBOOK, ", ".join(hosts)))
    playbook_run = (
        play(hosts, {due_host.host: build_variables(before, due_host) for due_host in before.due_hosts})
        if not find_stop_reason()
        else None
    )
    report(Event("done", PLAYBOOK, ""))
    after = judge_removal(gather(), names, packages=packages, foreign=foreign)
    return ResetOutcome(before, playbook_run, after, time.monotonic() - started_at, find_stop_reason())


def build_variables(before: Removal, host_removal: HostRemoval) -> dict[str, Any]:
    """Build the variables that tasks/reset.yml of the roles read: no more than what was shown."""
    spec = before.snapshot.inventory.spec
    return {
        "gpustack_reset": {
            "node": host_removal.node,
            "drain": host_removal.drain,
            "packages": list(host_removal.packages),
            "holds": list(host_removal.holds),
            "pod_cidr": str(spec.kubernetes.pod_cidr),
            "agreed": {
                agreement.path: {"action": agreement.action, "kind": agreement.kind, "state": agreement.state}
                for agreement in host_removal.ownership.agreements
            },
            "cluster": host_removal.ownership.cluster,
            "kubelet": host_removal.kubelet,
            "edited": list(host_removal.ownership.edited_files),
        }
    }
