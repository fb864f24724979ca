"""Fixes that never were, of invented diagnoses."""

from dataclasses import replace

from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import graph
from gpustack.ownership.decision import Decision
from gpustack.ownership.record import Record
from gpustack.remedy.fixed import Attempt, Fixed
from gpustack.remedy.objects import ObjectChange
from gpustack.remedy.offer import Offer
from gpustack.remedy.records import Change, HostRecord
from gpustack.remedy.scope import Scope, declare_sysctl
from gpustack.remedy.step_scope import MORE, declare_things
from gpustack.remedy.undo import LastFix, Rollback, describe_left
from gpustack.rollout.plan import Played
from tests.worlds.diagnoses import INVENTORY, diagnosed, healthy, ufw
from tests.worlds.plans import PASSWORD

ID = "20261122T063012.000001Z"
IP = "host-ip-forward-off"
FILE, EARLIER = f"file 644 0 0 {'1' * 64}", f"file 644 0 0 {'2' * 64}"


def change(kind: str, name: str, before: str, after: str, decision: Decision = Decision.RESTORE) -> Change:
    actual = f"file 644 0 0 {'3' * 64}" if decision == Decision.CHANGED else after
    return Change("gpu1", Record(kind, name, before, after), actual, decision)


RECORD = HostRecord(
    "gpu1", ID, IP, ("gpu1",),
    changes=(
        change("file", "/etc/sysctl.d/zzz-gpustack.conf", "absent", FILE, Decision.REMOVE),
        change("key", "net.ipv4.ip_forward", "0", "1"),
    ),
)  # fmt: skip
EDITED = change("file", "/etc/containerd/conf.d/site.toml", EARLIER, FILE, Decision.CHANGED)
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
        scopes = {"gpu1": declare_sysctl({"net.ipv4.ip_forward": "1"})}
        typed = (Command("sysctl", "-w", "net.ipv4.ip_forward=1"),)
        return Offer(root, graph().faults[IP], "remedy/sysctl", ("gpu1",), {}, typed, scopes=scopes)
    stands = "rules are loaded anew; connections stay"
    scopes = {"gpu1": Scope(declare_things("firewall"), beyond=MORE["firewall"].beyond)}
    typed = (Command("gpustack", "install", "--only", "firewall"),)
    return Offer(root, graph().faults[root.id], "firewall", ("gpu1",), {}, typed, stands, scopes)


def played(name: str) -> Played:
    return Played(name, ("gpu1",), ("gpu1",), (), (), 2.5, Command("ansible-playbook", f"{name}.yml"), 2)


def good() -> Fixed:
    one = Attempt(offer(before()), "fixed", played("remedy/sysctl"), (RECORD,), seconds=12.3)
    return Fixed(before(), (one,), healthy(), 14.0)


def mixed() -> Fixed:
    """One that was not resolved, and one for a person."""
    found = ufw()
    changes = (
        change("file", "/etc/ufw/user.rules", EARLIER, FILE),
        change("unit", "gpustack-firewall-metrics", "inactive", "active"),
    )
    record = replace(RECORD, changes=changes)
    rollback = Rollback(LastFix((record,)), ("gpu1: restored /etc/ufw/user.rules",), (describe_left(EDITED, ID),))
    unreached = next(root for root in found.roots if root.id == "host-ssh-unreachable")
    stuck = Attempt(
        offer(found), "not-resolved", played("firewall"), (record,), rollback,
        f"gpu1: it: expected as it should be, found DROP {PASSWORD}", seconds=151.0,
    )  # fmt: skip
    person = Attempt(Offer(unreached, graph().faults[unreached.id]), "manual", why="there is no playbook for it")
    return Fixed(found, (stuck, person), found, 170.0, "host-ufw-blocks-pods was not resolved")


def last() -> LastFix:
    """Return a last fix, after which one file was changed and an object of the cluster was not."""
    content = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "p"}}
    written = Record("object", "Prometheus.monitoring.coreos.com monitoring/monitoring-prometheus", "1", "2")
    restorable = ObjectChange("gpu1", written, "2", Decision.RESTORE, before=content, now=content)
    return LastFix((replace(RECORD, changes=(*RECORD.changes, EDITED)),), (restorable,))


def undone() -> Rollback:
    did = ("gpu1: removed /etc/sysctl.d/zzz-gpustack.conf", "gpu1: set net.ipv4.ip_forward = 0")
    return Rollback(last(), did, (describe_left(EDITED, ID),), 1.4)


__all__ = ["DIFFERENCES", "INVENTORY", "before", "good", "last", "mixed", "offer", "undone"]
