"""Fixes that never were, of invented diagnoses."""

from dataclasses import replace

from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import graph
from gpustack.remedy.copies import Kept
from gpustack.remedy.fixed import Attempt, Fixed
from gpustack.remedy.offer import Offer
from gpustack.remedy.undo import Changed, Last, Undone
from gpustack.rollout.plan import Played
from tests.worlds.diagnoses import INVENTORY, diagnosed, healthy, ufw
from tests.worlds.plans import PASSWORD

ID = "20261122T063012.000001Z"
IP = "host-ip-forward-off"
KEPT = Kept(
    "gpu1", ID, (f"fault {IP}", "hosts gpu1"), ("etc/sysctl.d/zzz-gpustack.conf",), (), ("net.ipv4.ip_forward 0 -> 1",)
)
DIFFERENCES = (
    "remedy/sysctl on gpu1: Ensure the keys are set at boot",
    "--- before",
    "+++ after: /etc/sysctl.d/zzz-gpustack.conf",
    f"+net.ipv4.ip_forward = 1 \x1b[31m{PASSWORD}",
)


def before() -> Diagnosis:
    return diagnosed({f"{IP}@gpu1": "!0"})


def offer(found: Diagnosis) -> Offer:
    """Of a firewall, or of forwarding."""
    (root,) = (one for one in found.roots if one.id != "host-ssh-unreachable")
    if root.id == IP:
        return Offer(root, graph().faults[IP], "remedy/sysctl", ("gpu1",), {}, ("sysctl -w net.ipv4.ip_forward=1",))
    stands = "rules are loaded anew; connections stay"
    return Offer(
        root, graph().faults[root.id], "firewall", ("gpu1",), {}, ("gpustack install --only firewall",), stands
    )


def played(name: str) -> Played:
    return Played(name, ("gpu1",), ("gpu1",), (), (), 2.5, f"ansible-playbook {name}.yml", 2)


def good() -> Fixed:
    one = Attempt(offer(before()), "fixed", played("remedy/sysctl"), (KEPT,), seconds=12.3)
    return Fixed(before(), (one,), healthy(), 14.0)


def mixed() -> Fixed:
    """One that was not resolved, and one for a person."""
    found, kept = ufw(), replace(KEPT, files=("etc/ufw/user.rules",), keys=(), units=("ufw inactive -> active",))
    unreached = next(root for root in found.roots if root.id == "host-ssh-unreachable")
    stuck = Attempt(
        offer(found), "not-resolved", played("firewall"), (kept,), ("gpu1: restored /etc/ufw/user.rules",),
        f"gpu1: it: expected as it should be, found DROP {PASSWORD}", seconds=151.0,
    )  # fmt: skip
    person = Attempt(Offer(unreached, graph().faults[unreached.id]), "manual", why="there is no playbook for it")
    return Fixed(found, (stuck, person), found, 170.0, "host-ufw-blocks-pods was not resolved")


def last() -> Last:
    return Last((KEPT,), (Changed(("Prometheus", "monitoring", "monitoring-prometheus"), {}, {}),))


def undone() -> Undone:
    did = ("gpu1: removed /etc/sysctl.d/zzz-gpustack.conf", "gpu1: set net.ipv4.ip_forward = 0")
    return Undone(last(), did, 1.4)


__all__ = ["DIFFERENCES", "INVENTORY", "before", "good", "last", "mixed", "offer", "undone"]
