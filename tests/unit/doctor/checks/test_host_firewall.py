"""Whose rule stops which packet."""

import pytest

from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import firewall as packets

FIREWALLS = {"ufw": "host-ufw-blocks-pods", "firewalld": "host-firewalld-active"}


@pytest.mark.parametrize("release", ["debian-12", "debian-13"])
@pytest.mark.parametrize("manager", ["ufw", "firewalld", "iptables", "nftables", "none"])
def test_the_manager_that_blocks_is_named_and_no_other(manager: str, release: str) -> None:
    """Recorded before our rules and after."""
    moments = [""] if manager == "none" else ["-before", "-after"]
    for moment in moments:
        snapshot = packets.load_snapshot(f"{manager}-{release}{moment}")
        location = packets.build_view(snapshot).location
        ids = {id for id in FIREWALLS.values() if evaluate(id, snapshot, location).outcome == "failed"}
        assert ids == ({FIREWALLS[manager]} if manager in FIREWALLS and moment == "-before" else set())


def test_a_rule_that_rejects_is_quoted() -> None:
    rules = packets.OPEN + "-A INPUT -i host0 -p tcp --dport 22 -j ACCEPT\n-A INPUT -j REJECT\n"
    judgement = evaluate("host-cloud-image-reject-rules", packets.build_snapshot(packets.format_rules(rules)), "host1")
    assert judgement.outcome == "failed"
    assert "-A INPUT -j REJECT" in summarize(judgement)[1]
    dropping_snapshot = packets.build_snapshot(packets.format_rules(rules.replace("REJECT", "DROP")))
    assert summarize(evaluate("host-cloud-image-reject-rules", dropping_snapshot, "host1")) == (
        "ok",
        "not rejected by a rule",
    )


def test_a_rule_beside_the_chains_of_ufw_is_not_ufws() -> None:
    """An image has such rules whose owner turned ufw on later: each is a fault of its own."""
    chains = packets.OPEN + "-N ufw-user-input\n-A INPUT -j ufw-user-input\n"
    rule_beside = "-A INPUT -j REJECT\n"
    denied_rule = "-A ufw-user-input -s 10.244.0.0/16 -i cni0 -j DROP\n"
    for rules, faults in (
        (rule_beside, {"host-cloud-image-reject-rules"}),
        (denied_rule, {"host-ufw-blocks-pods"}),
        (rule_beside + denied_rule, {"host-cloud-image-reject-rules", "host-ufw-blocks-pods"}),
    ):
        snapshot = packets.build_snapshot(packets.format_rules(chains + rules).replace("== ufw\n", "== ufw\nyes\n"))
        both_faults = ("host-cloud-image-reject-rules", "host-ufw-blocks-pods")
        assert {id for id in both_faults if evaluate(id, snapshot, "host1").outcome == "failed"} == faults
