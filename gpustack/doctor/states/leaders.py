"""Programs of the control plane of which none works, because another holder keeps their Lease: they run and wait."""

from collections.abc import Iterator

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kubernetes.leader_leases import LEADER_LEASES, LeaderLease

USUAL_SILENCE = 60
"""The seconds after which a Lease counts as not renewed. A holder renews it every two seconds, and after 15 another one
takes its place."""
WORK = {
    "kube-controller-manager": "no pod of a Deployment, DaemonSet or Job is made, and no lost node is noticed",
    "kube-scheduler": "no pod gets a node",
}


def observe_leases(view: View) -> Iterator[AbnormalState]:
    """List the Leases that nobody has renewed for a minute."""
    for lease in view[LEADER_LEASES]:
        if lease.silence is not None and lease.silence > USUAL_SILENCE:
            command = Command("kubectl", "-n", "kube-system", "get", "lease", lease.name, "-o", "yaml")
            subject = f"lease kube-system/{lease.name}"
            yield AbnormalState(
                "lease-not-renewed", "broken", (CLUSTER,), (subject,), describe_lease(lease), command, lease.renewed_at
            )


def describe_lease(lease: LeaderLease) -> str:
    if not lease.holder:
        return f"it has had no holder for {lease.silence:.0f} s: {WORK[lease.name]}"
    return (
        f"its holder {lease.holder} has not renewed it for {lease.silence:.0f} s, and others wait {lease.duration} s "
        f"from its last renewal: {WORK[lease.name]}"
    )


OBSERVERS = (Observer("leader-leases", "Leases of the control plane", observe_leases, (LEADER_LEASES,)),)
