"""The checks on recorded answers: what they confirm, what refutes them, and where they cannot tell."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.doctor.diagnose import judge
from gpustack.doctor.finding import Judged
from gpustack.doctor.tells import registry
from tests.unit.steps import firewall_world as packets
from tests.unit.steps import recorded_hosts as hosts
from tests.unit.steps.recorded_cluster import recorded, said

Edit = tuple[str, str]
ON, OFF = "net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"


def asked(id: str, snapshot: Snapshot, where: str = "h1") -> Judged:
    return judge(registry().tellers[id], View(snapshot, where))


def on_host(id: str, answers: Mapping[str, Answer], **world: Any) -> Judged:
    changed = {(probe, "h1"): answer for probe, answer in answers.items()}
    return asked(id, hosts.snapshot(changed, {}, hosts.World(**world)))


def told(found: Judged) -> tuple[str, str]:
    return found.outcome, found.told.found if found.told else found.why


def sysctls(*edits: Edit) -> dict[str, Answer]:
    return {"kernel.sysctls": recorded("kernel.sysctls", "prepared-debian-12", *edits)}


def test_ip_forward_is_told_with_the_file_that_sets_it() -> None:
    assert told(on_host("host-ip-forward-off", {}))[0] == "refuted"
    outcome, found = told(on_host("host-ip-forward-off", sysctls((ON, OFF))))
    assert outcome == "confirmed"
    assert found.startswith("0 (/etc/sysctl.d/90-gpustack.conf sets ")


def test_an_answer_that_is_missing_neither_confirms_nor_refutes() -> None:
    assert on_host("host-ip-forward-off", {"kernel.sysctls": said("kernel.sysctls", "", 1)}).outcome == "unknown"
    gone = on_host("host-ip-forward-off", {"kernel.sysctls": Answer("kernel.sysctls", "h1", -1, "", lost="it hung")})
    assert told(gone) == ("unknown", "it hung")


def test_bridged_packets() -> None:
    key = "net.bridge.bridge-nf-call-iptables"
    assert told(on_host("bridge-nf-call-off", {}))[0] == "refuted"
    assert on_host("bridge-nf-call-off", sysctls((f"{key} 1", f"{key} 0"))).outcome == "confirmed"
    assert told(on_host("bridge-nf-call-off", {"kernel.sysctls": recorded("kernel.sysctls", "no-bridge")})) == (
        "refuted", "nothing",
    )  # fmt: skip


def test_br_netfilter_is_told_by_its_effect() -> None:
    assert told(on_host("flannel-br-netfilter-missing", {})) == ("refuted", "working")
    without = recorded("kernel.modules", "prepared-debian-12", ("overlay\nbr_netfilter", "overlay"))
    assert told(on_host("flannel-br-netfilter-missing", {"kernel.modules": without})) == ("confirmed", "not working")


@pytest.mark.parametrize(
    ("reference", "ssh", "sudo"),
    [
        ("", "refuted", "refuted"),
        ("host-ssh-unreachable", "confirmed", "unknown"),
        ("host-key-unknown", "confirmed", "unknown"),
        ("host-sudo-password", "refuted", "confirmed"),
        ("host-no-sudo", "refuted", "confirmed"),
    ],
)
def test_a_host_that_cannot_be_asked(reference: str, ssh: str, sudo: str) -> None:
    before = hosts.snapshot({}, {})
    here = replace(before, reach={**before.reach, "h1": Reach("h1", reference, "it said so")})
    assert asked("host-ssh-unreachable", here).outcome == ssh
    assert asked("host-sudo-password", here).outcome == sudo
    assert asked("st-host-unmanaged", here).outcome == ("confirmed" if reference else "refuted")


def test_a_host_that_nobody_asked_is_unknown() -> None:
    here = replace(hosts.snapshot({}, {}), reach={})
    assert told(asked("host-ssh-unreachable", here)) == ("unknown", "h1 was not asked")


SILENT = said("containerd.runtime", "", 1)


def test_cri_that_is_turned_off() -> None:
    assert told(on_host("containerd-cri-disabled", {})) == ("refuted", "answers")
    vendor = {"containerd.runtime": SILENT, "containerd.configuration": recorded("containerd.configuration", "vendor")}
    assert told(on_host("containerd-cri-disabled", vendor)) == (
        "confirmed", "does not answer: turned off by disabled_plugins in config.toml",
    )  # fmt: skip
    failed = on_host("containerd-cri-disabled", {"containerd.runtime": SILENT})
    assert told(failed) == ("confirmed", "does not answer: it failed to load")
    assert on_host("st-runtime-down", {"containerd.runtime": SILENT}).outcome == "confirmed"


def test_containerd_that_does_not_run_is_another_fault_and_not_applicable_without_it() -> None:
    stopped = recorded("units.services", "prepared-debian-12")
    first, rest = stopped.out.split("\n\n", 1)
    down = replace(stopped, out=first.replace("ActiveState=active", "ActiveState=inactive") + "\n\n" + rest)
    answers = {"units.services": down, "containerd.runtime": SILENT}
    assert on_host("containerd-not-running", answers).outcome == "confirmed"
    assert told(on_host("containerd-cri-disabled", answers)) == ("refuted", "not active")
    gone = replace(stopped, out=first.replace("LoadState=loaded", "LoadState=not-found") + "\n\n" + rest)
    assert told(on_host("containerd-not-running", {"units.services": gone})) == ("refuted", "not installed")


FIREWALLS = {"ufw": "host-ufw-blocks-pods", "firewalld": "host-firewalld-active"}


@pytest.mark.parametrize("release", ["debian-12", "debian-13"])
@pytest.mark.parametrize("manager", ["ufw", "firewalld", "iptables", "nftables", "none"])
def test_the_manager_that_blocks_is_named_and_no_other(manager: str, release: str) -> None:
    """Recorded before our rules and after."""
    when = [""] if manager == "none" else ["-before", "-after"]
    for one in when:
        here = packets.recorded(f"{manager}-{release}{one}")
        where = packets.here(here).where
        found = {id for id in FIREWALLS.values() if asked(id, here, where).outcome == "confirmed"}
        assert found == ({FIREWALLS[manager]} if manager in FIREWALLS and one == "-before" else set())


def test_a_rule_that_rejects_is_told_by_its_text() -> None:
    rules = packets.OPEN + "-A INPUT -i host0 -p tcp --dport 22 -j ACCEPT\n-A INPUT -j REJECT\n"
    found = asked("host-cloud-image-reject-rules", packets.world(packets.live(rules)), "host1")
    assert found.outcome == "confirmed"
    assert "-A INPUT -j REJECT" in told(found)[1]
    dropped = packets.world(packets.live(rules.replace("REJECT", "DROP")))
    assert told(asked("host-cloud-image-reject-rules", dropped, "host1")) == ("refuted", "no rule rejects it")


def test_vxlan_that_the_host_itself_stops() -> None:
    rules = packets.OPEN + "-A INPUT -p udp --dport 8472 -j DROP\n"
    assert asked("vxlan-port-blocked", packets.world(packets.live(rules)), "host1").outcome == "confirmed"
    assert told(asked("vxlan-port-blocked", packets.world(packets.live()), "host1")) == ("refuted", "let through here")


@pytest.mark.parametrize(
    ("prometheus", "monitors", "outcome"),
    [
        ("all", "exporter", "refuted"),
        ("of-the-release", "exporter", "confirmed"),
        ("of-the-release", "none", "refuted"),
        ("absent", "exporter", "confirmed"),
        ("none", "exporter", "refuted"),
        ("no-such-kind", "no-such-kind", "refuted"),
        ("expressions", "exporter", "unknown"),
        ("refused", "exporter", "unknown"),
    ],
)
def test_monitors_that_prometheus_does_not_take(prometheus: str, monitors: str, outcome: str) -> None:
    answers = {
        ("service-monitors.selectors", CLUSTER): recorded("service-monitors.selectors", prometheus),
        ("service-monitors.found", CLUSTER): recorded("service-monitors.found", monitors),
    }
    here = hosts.snapshot(answers, {})
    assert asked("mon-selector-nil-uses-helm-values", here, CLUSTER).outcome == outcome


def test_what_the_selector_wants_is_said() -> None:
    answers = {
        ("service-monitors.selectors", CLUSTER): recorded("service-monitors.selectors", "of-the-release"),
        ("service-monitors.found", CLUSTER): recorded("service-monitors.found", "bare"),
    }
    found = asked("mon-selector-nil-uses-helm-values", hosts.snapshot(answers, {}), CLUSTER)
    assert told(found)[1] == "monitoring-prometheus wants release=monitoring; gpustack-dcgm does not have that"
