"""Fixes that never were, of invented diagnoses."""

from dataclasses import replace

from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import load_graph
from gpustack.ownership.decision import Decision
from gpustack.ownership.record import Record
from gpustack.remedy.fix_result import Attempt, FixResult
from gpustack.remedy.objects import ObjectChange
from gpustack.remedy.offer import Offer
from gpustack.remedy.records import Change, HostRecord
from gpustack.remedy.scope import Scope, declare_sysctl
from gpustack.remedy.step_scope import STEP_SCOPES, declare_resources
from gpustack.remedy.undo import LastFix, Rollback, describe_remainder
from gpustack.rollout.plan import PlaybookRun
from tests.worlds.results.diagnoses import INVENTORY, make_diagnosis, make_healthy_diagnosis, make_ufw_diagnosis
from tests.worlds.results.plans import PASSWORD

ID = "20261122T063012.000001Z"
IP = "host-ip-forward-off"
FILE, EARLIER = f"file 644 0 0 {'1' * 64}", f"file 644 0 0 {'2' * 64}"


def make_change(kind: str, name: str, before: str, after: str, decision: Decision = Decision.RESTORE) -> Change:
    actual = f"file 644 0 0 {'3' * 64}" if decision == Decision.LATER_CHANGE else after
    return Change("gpu1", Record(kind, name, before, after), actual, decision)


RECORD = HostRecord(
    "gpu1", ID, IP, ("gpu1",),
    changes=(
        make_change("file", "/etc/sysctl.d/zzz-gpustack.conf", "absent", FILE, Decision.REMOVE),
        make_change("key", "net.ipv4.ip_forward", "0", "1"),
    ),
)  # fmt: skip
EDITED_FILE = make_change("file", "/etc/containerd/conf.d/site.toml", EARLIER, FILE, Decision.LATER_CHANGE)
DIFFERENCES = (
    "remedy/sysctl on gpu1: Ensure the keys are set at boot",
    "--- before",
    "+++ after: /etc/sysctl.d/zzz-gpustack.conf",
    f"+net.ipv4.ip_forward = 1 \x1b[31m{PASSWORD}",
)


def diagnose_forwarding() -> Diagnosis:
    return make_diagnosis({f"{IP}@gpu1": "!0"})


def offer(diagnosis: Diagnosis) -> Offer:
    """Offer the fix of a firewall, or of forwarding."""
    (root,) = (finding for finding in diagnosis.roots if finding.id != "host-ssh-unreachable")
    if root.id == IP:
        scopes = {"gpu1": declare_sysctl({"net.ipv4.ip_forward": "1"})}
        typed_commands = (Command("sysctl", "-w", "net.ipv4.ip_forward=1"),)
        return Offer(root, load_graph().faults[IP], "remedy/sysctl", ("gpu1",), {}, typed_commands, scopes=scopes)
    stands = "rules are loaded anew; connections stay"
    scopes = {
        "gpu1": Scope(declare_resources("firewall"), irreversible_changes=STEP_SCOPES["firewall"].irreversible_changes)
    }
    typed_commands = (Command("gpustack", "install", "--only", "firewall"),)
    return Offer(root, load_graph().faults[root.id], "firewall", ("gpu1",), {}, typed_commands, stands, scopes)


def make_run(name: str) -> PlaybookRun:
    return PlaybookRun(name, ("gpu1",), ("gpu1",), (), (), 2.5, Command("ansible-playbook", f"{name}.yml"), 2)


def make_good_fix() -> FixResult:
    attempt = Attempt(offer(diagnose_forwarding()), "fixed", make_run("remedy/sysctl"), (RECORD,), seconds=12.3)
    return FixResult(diagnose_forwarding(), (attempt,), make_healthy_diagnosis(), 14.0)


def make_mixed_fix() -> FixResult:
    """Make a fix with one fault that was not resolved, and one for a person."""
    diagnosis = make_ufw_diagnosis()
    changes = (
        make_change("file", "/etc/ufw/user.rules", EARLIER, FILE),
        make_change("unit", "gpustack-firewall-metrics", "inactive", "active"),
    )
    record = replace(RECORD, changes=changes)
    rollback = Rollback(
        LastFix((record,)), ("gpu1: restored /etc/ufw/user.rules",), (describe_remainder(EDITED_FILE, ID),)
    )
    unreached_root = next(root for root in diagnosis.roots if root.id == "host-ssh-unreachable")
    stuck = Attempt(
        offer(diagnosis), "not-resolved", make_run("firewall"), (record,), rollback,
        f"gpu1: it: expected as it should be, actual DROP {PASSWORD}", seconds=151.0,
    )  # fmt: skip
    person = Attempt(
        Offer(unreached_root, load_graph().faults[unreached_root.id]), "manual", reason="there is no playbook for it"
    )
    return FixResult(diagnosis, (stuck, person), diagnosis, 170.0, "host-ufw-blocks-pods was not resolved")


def make_last_fix() -> LastFix:
    """Return a last fix, after which one file was changed and an object of the cluster was not."""
    content = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "p"}}
    record = Record("object", "Prometheus.monitoring.coreos.com monitoring/monitoring-prometheus", "1", "2")
    restorable = ObjectChange("gpu1", record, "2", Decision.RESTORE, before=content, current_object=content)
    return LastFix((replace(RECORD, changes=(*RECORD.changes, EDITED_FILE)),), (restorable,))


def make_rollback() -> Rollback:
    did = ("gpu1: removed /etc/sysctl.d/zzz-gpustack.conf", "gpu1: set net.ipv4.ip_forward = 0")
    return Rollback(make_last_fix(), did, (describe_remainder(EDITED_FILE, ID),), 1.4)


__all__ = [
    "DIFFERENCES",
    "INVENTORY",
    "diagnose_forwarding",
    "make_good_fix",
    "make_last_fix",
    "make_mixed_fix",
    "make_rollback",
    "offer",
]  # fmt: skip
