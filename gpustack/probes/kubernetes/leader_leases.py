"""The Leases by which the programs of the control plane elect the one of them that works.

The holder renews its Lease every two seconds, and writes the host's name, `_` and a random id into it (client-go
tools/leaderelection; kubernetes/kubernetes cmd/kube-controller-manager/app). Another program waits for
`leaseDurationSeconds` since it saw the last renewal. A Lease that ended in peace has no holder.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import parse_optional_time

ELECTED_COMPONENTS = ("kube-controller-manager", "kube-scheduler")


@dataclass(frozen=True)
class LeaderLease:
    """Describe the Lease of a program. `silence` is for how many seconds it was not renewed, by the clocks that renew
    the Leases of this namespace: None where it never was. `duration` is in seconds."""

    name: str
    holder: str
    duration: int
    renewed_at: datetime | None
    silence: float | None


def parse_leader_leases(answer: Answer) -> tuple[LeaderLease, ...]:
    """Parse the Leases of the elected programs. Their age is that behind the youngest renewal: the API server renews a
    Lease here every ten seconds, by its own clock."""
    entries = list(list_objects(answer))
    times = [time for entry in entries if (time := parse_optional_time(entry["spec"].get("renewTime")))]
    return tuple(
        parse_leader_lease(entry, max(times, default=None))
        for entry in entries
        if entry["metadata"]["name"] in ELECTED_COMPONENTS
    )


def parse_leader_lease(entry: Any, youngest: datetime | None) -> LeaderLease:
    spec = entry["spec"]
    renewed_at = parse_optional_time(spec.get("renewTime"))
    silence = (youngest - renewed_at).total_seconds() if youngest and renewed_at else None
    return LeaderLease(
        entry["metadata"]["name"],
        spec.get("holderIdentity") or "",
        spec.get("leaseDurationSeconds", 0),
        renewed_at,
        silence,
    )


LEADER_LEASES = Probe(
    "kube.leader-leases",
    Api(
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
        ("metadata.name", "spec.holderIdentity", "spec.leaseDurationSeconds", "spec.renewTime"),
    ),
    parse_leader_leases,
)
