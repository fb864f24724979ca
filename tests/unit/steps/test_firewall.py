"""The firewall step's checks, on rules as they were recorded and on the worlds that could not be."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.steps.firewall import step
from gpustack.steps.firewall.flows import build_flow_entries
from gpustack.steps.firewall.packets import detect_manager
from gpustack.steps.firewall.step import HINT
from tests.worlds.snapshots.firewall import (
    HOSTS,
    OPEN,
    PLANE,
    WORKER,
    build_snapshot,
    build_view,
    format_rules,
    judge_rules,
    list_outcomes,
    load_snapshot,
)

every_manager = pytest.mark.parametrize("firewall", ["firewalld", "ufw", "nftables", "iptables"])
every_release = pytest.mark.parametrize("release", ["debian-12", "debian-13"])


@every_manager
@every_release
def test_each_firewall_fails_before_and_passes_after_install(firewall: str, release: str) -> None:
    before, after = load_snapshot(f"{firewall}-{release}-before"), load_snapshot(f"{firewall}-{release}-after")
    assert detect_manager(build_view(before)) == detect_manager(build_view(after)) == firewall
    outcomes = list_outcomes(before)
    assert set(outcomes.values()) == {"install"}
    assert {"flows-pass", "ours-are-stored"} <= set(outcomes)
    assert list_outcomes(after) == {}


def test_what_a_rule_of_ufw_denies_by_name_is_the_operators() -> None:
    """Ours would be asked after it."""
    before = load_snapshot("ufw-debian-12-before").answers["firewall.live", "host1"]
    denied_rule = "-A ufw-user-input -s 10.244.0.0/16 -j DROP\n"
    rules = before.stdout.replace("-A INPUT ", f"{denied_rule}-A INPUT ", 1)
    stored_answer = load_snapshot("ufw-debian-12-before").answers["firewall.stored", "host1"]
    outcomes = list_outcomes(build_snapshot(replace(before, stdout=rules), stored_answer))
    assert rules != before.stdout
    assert outcomes["flows-pass"] == "operator"


@every_release
def test_without_a_firewall_other_hosts_are_kept_out_and_no_more(release: str) -> None:
    snapshot, after = load_snapshot(f"none-{release}"), load_snapshot(f"guarded-{release}")
    assert detect_manager(build_view(snapshot)) == detect_manager(build_view(after)) == "none"
    assert list_outcomes(snapshot) == {"metrics-ports-blocked": "install"}
    assert list_outcomes(after) == {}


@every_manager
def test_lost_rules_of_a_manager_are_for_install(firewall: str) -> None:
    """Loaded and not stored: `ours-are-stored` alone. Stored and not loaded: all that the kernel shows."""
    before, after = load_snapshot(f"{firewall}-debian-12-before"), load_snapshot(f"{firewall}-debian-12-after")
    key = ("firewall.live", "host1"), ("firewall.stored", "host1")
    not_stored = build_snapshot(after.answers[key[0]], before.answers[key[1]])
    assert list_outcomes(not_stored) == {"ours-are-stored": "install"}
    not_loaded = build_snapshot(before.answers[key[0]], after.answers[key[1]])
    assert {"flows-pass": "install", "ours-are-loaded": "install"}.items() <= list_outcomes(not_loaded).items()
    assert "ours-are-stored" not in list_outcomes(not_loaded)


@every_manager
def test_an_address_that_is_no_node_is_too_much(firewall: str) -> None:
    after = load_snapshot(f"{firewall}-debian-12-after")
    inventory = Inventory(None, HOSTS[:1], after.inventory.spec)
    snapshot = Snapshot(after.started_at, inventory, after.reach, after.answers)
    assert list_outcomes(snapshot).keys() == (
        {"ours-are-stored"} if firewall == "ufw" else {"ours-are-stored", "ours-are-loaded"}
    )
    result = judge_rules(snapshot)["ours-are-stored"].result
    assert result
    assert f"unexpected: in tcp {WORKER}/32" in result.actual


def test_a_node_that_is_not_reached_keeps_its_rules() -> None:
    after = load_snapshot("iptables-debian-12-after")
    live_, stored_answer = (after.answers[probe, "host1"] for probe in ("firewall.live", "firewall.stored"))
    assert list_outcomes(build_snapshot(live_, stored_answer, reached=False)) == {}


def test_a_reject_in_forward_is_found() -> None:
    snapshot = build_snapshot(
        format_rules(OPEN + "-A FORWARD -j REJECT --reject-with icmp-host-prohibited", units=("netfilter-persistent",))
    )
    result = judge_rules(snapshot)["pods-are-forwarded"].result
    assert result
    assert result.cure == "install"
    assert "-A FORWARD -j REJECT --reject-with icmp-host-prohibited" in result.actual
    assert "flows-pass" not in list_outcomes(snapshot)


def test_a_reject_before_our_jump_is_found() -> None:
    after = load_snapshot("iptables-debian-12-after")
    answer = after.answers["firewall.live", "host1"]
    late = answer.stdout.replace("-A FORWARD -j GPUSTACK-FWD", "-A FORWARD -j REJECT\n-A FORWARD -j GPUSTACK-FWD")
    assert late != answer.stdout
    snapshot = build_snapshot(late, after.answers["firewall.stored", "host1"])
    assert list_outcomes(snapshot) == {"pods-are-forwarded": "install"}


def test_a_drop_policy_of_forward_alone_is_docker_and_harmless() -> None:
    assert list_outcomes(build_snapshot(format_rules(OPEN.replace("FORWARD ACCEPT", "FORWARD DROP")))) == {}


DROPPED_INPUT = OPEN.replace("INPUT ACCEPT", "INPUT DROP")


def test_rules_that_nobody_known_loads_are_for_the_operator() -> None:
    snapshot = build_snapshot(format_rules(DROPPED_INPUT))
    assert list_outcomes(snapshot) == {"flows-pass": "operator"}
    result = judge_rules(snapshot)["flows-pass"].result
    assert result
    assert "the policy DROP of chain ip filter INPUT" in result.actual
    assert result.hint == HINT


def test_the_page_of_the_step_lists_every_port() -> None:
    ports = {
        port for flow in build_flow_entries(Spec(), [PLANE, WORKER]) if flow["to"] == "host" for port in flow["ports"]
    }
    assert {port for port in ports if port not in (step.__doc__ or "")} == set()


def test_firewall_manage_false_changes_nothing_and_names_the_page() -> None:
    snapshot = build_snapshot(format_rules(DROPPED_INPUT, units=("netfilter-persistent",)), spec={"manage": False})
    assert list_outcomes(snapshot) == {"flows-pass": "operator"}
    result = judge_rules(snapshot)["flows-pass"].result
    assert result
    assert result.hint == HINT


def test_firewall_manage_false_is_content_with_rules_of_another_hand() -> None:
    own_rules = "-A INPUT -i lo -j ACCEPT\n-A INPUT -s 10.77.1.0/24 -j ACCEPT\n-A INPUT -s 10.244.0.0/16 -j ACCEPT"
    snapshot = build_snapshot(
        format_rules(DROPPED_INPUT + own_rules, units=("netfilter-persistent",)), spec={"manage": False}
    )
    assert list_outcomes(snapshot) == {}


def test_a_rule_of_the_operator_about_a_node_is_for_the_operator() -> None:
    line = f"-A INPUT -s {WORKER}/32 -j DROP"
    snapshot = build_snapshot(format_rules(OPEN + line, units=("netfilter-persistent",)))
    assert list_outcomes(snapshot) == {"flows-pass": "operator"}
    result = judge_rules(snapshot)["flows-pass"].result
    assert result
    assert line in result.actual


def format_table(policy: str) -> str:
    chain = {"family": "inet", "table": "site", "name": "in", "type": "filter", "hook": "input", "policy": policy}
    return "== nft\n" + json.dumps({"nftables": [{"metainfo": {}}, {"chain": chain}]}) + "\n"


def test_a_second_filter_beside_the_manager_is_for_the_operator() -> None:
    after = load_snapshot("ufw-debian-12-after")
    answer = after.answers["firewall.live", "host1"]
    snapshot = build_snapshot(f"{answer.stdout}\n{format_table('drop')}", after.answers["firewall.stored", "host1"])
    result = judge_rules(snapshot)["flows-pass"].result
    assert result
    assert result.cure == "operator"
    assert "chain inet site in" in result.actual


def test_nftables_without_its_service_is_for_the_operator() -> None:
    assert list_outcomes(build_snapshot(format_rules(rules_after=format_table("drop")))) == {"flows-pass": "operator"}
    assert (
        list_outcomes(build_snapshot(format_rules(rules_after=format_table("drop"), units=("nftables",))))["flows-pass"]
        == "install"
    )


def test_an_older_iptables_beside_the_newer_is_for_the_operator() -> None:
    snapshot = build_snapshot(
        format_rules(rules_after=f"== iptables-legacy\n{DROPPED_INPUT}", units=("netfilter-persistent",))
    )
    assert list_outcomes(snapshot) == {"flows-pass": "operator"}


SSH = f"LISTEN 0.0.0.0:22 0.0.0.0:*\nESTAB {PLANE}:22 10.77.1.1:52344"


@pytest.mark.parametrize(("ssh", "broken"), [(SSH, True), ("", False), ("LISTEN [::]:22 [::]:*", False)])
def test_ssh_that_would_not_be_let_in_again_is_reported(ssh: str, broken: bool) -> None:
    judgement = judge_rules(build_snapshot(format_rules(DROPPED_INPUT, ssh=ssh)))["ssh-is-let-in"]
    assert (judgement.outcome == "failed") is broken
    if judgement.result:
        assert judgement.result.cure == "operator"
        assert "tcp 22 from 10.77.1.1" in judgement.result.actual


def test_ssh_on_another_port_is_let_in() -> None:
    rules = DROPPED_INPUT + "-A INPUT -p tcp -m tcp --dport 2222 -j ACCEPT"
    judgement = judge_rules(build_snapshot(format_rules(rules, ssh=SSH.replace(":22 ", ":2222 "))))["ssh-is-let-in"]
    assert judgement.outcome == "ok"


@pytest.mark.parametrize("spoil", [lambda text: "", lambda text: text.replace("-P INPUT ACCEPT", "iptables: denied")])
def test_an_unreadable_firewall_is_unknown(spoil: Callable[[str], str]) -> None:
    assert set(list_outcomes(build_snapshot(spoil(format_rules()))).values()) == {"unknown"}


def test_a_node_that_cannot_tell_its_address_takes_no_other_with_it() -> None:
    snapshot = build_snapshot(format_rules())
    spoiled_answers = {
        **snapshot.answers,
        ("network.address", "host2"): Answer("network.address", "host2", 0, "\x1b[2J\n"),
    }
    assert list_outcomes(replace(snapshot, answers=spoiled_answers)) == {}
