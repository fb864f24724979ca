"""Clients of hosts that have a firewall: who may connect from outside the cluster, and to what."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.ask.script import format_command
from gpustack.ask.snapshot import Snapshot
from gpustack.probes.network.controller import CONTROLLER
from gpustack.rollout.overlay import build_overlay
from gpustack.steps.firewall.clients import describe_clients
from gpustack.steps.firewall.packets import list_controllers, list_expected_passes, uses_node_ports
from tests.worlds.snapshots.answers import make_answer, make_list, place_answers, read_case
from tests.worlds.snapshots.build import build
from tests.worlds.snapshots.firewall import HOSTS, OPEN, build_view, format_rules, judge_rules, load_snapshot

DROP_RULES = OPEN.replace("INPUT ACCEPT", "INPUT DROP")
CONTROLLER_ADDRESS, EARLIER_ADDRESS = "192.0.2.9", "192.0.2.10"
API_URL = "https://10.77.1.11:6443\n"


def take_snapshot(
    rules: str = DROP_RULES,
    sources: Sequence[str] | None = None,
    *,
    client: str = CONTROLLER_ADDRESS,
    **answers: Answer,
) -> Snapshot:
    """Take a snapshot of a control plane whose rules netfilter-persistent loads."""
    base = load_snapshot("iptables-debian-12-before")
    placed_answers = {
        **base.answers,
        ("firewall.live", "host1"): make_answer("firewall.live", format_rules(rules, units=("netfilter-persistent",))),
        ("network.controller", "host1"): make_answer("network.controller", f"{client} 50814 10.77.1.11 22\n"),
        ("leftovers.kubernetes", "host1"): answers.get("leftovers", make_answer("leftovers.kubernetes", "")),
    }
    if "services" in answers:
        placed_answers["proof.services", CLUSTER] = answers["services"]
    spec: Mapping[str, Any] = {"firewall": {} if sources is None else {"sources": list(sources)}}
    return build(HOSTS, placed_answers, spec)


def list_api_clients(snapshot: Snapshot) -> set[str]:
    """List who reaches the API by gpustack's rules, without nodes and pods."""
    passes = list_expected_passes(build_view(snapshot), "iptables")
    clients = {rule.split()[2] for rule in passes if rule.startswith("in tcp") and rule.endswith(" 6443")}
    return clients - {"10.77.1.11/32", "10.77.1.12/32", "10.244.0.0/16"}


def test_by_default_the_api_lets_in_who_installs_and_nothing_else_lets_in_anybody() -> None:
    snapshot = take_snapshot()
    assert list_api_clients(snapshot) == {"192.0.2.9/32"}
    passes = list_expected_passes(build_view(snapshot), "iptables")
    assert not [rule for rule in passes if "0.0.0.0/0" in rule or "30000" in rule or rule.endswith(" 10256")]
    result = judge_rules(snapshot)["ours-are-loaded"].result
    assert result
    assert result.cure == "install"


def test_the_role_gets_the_address_for_the_control_plane_alone() -> None:
    snapshot = take_snapshot()
    system = [read_case("system.os", "fresh-debian-12"), make_answer("system.hostname", "host1\n")]
    answers = {**snapshot.answers, **place_answers("host1", *system), **place_answers("host2", *system)}
    hosts = build_overlay(build(HOSTS, answers))["all"]["hosts"]
    (flow,) = hosts["host1"]["gpustack_host"]["controller_flows"]
    assert (flow["ports"], flow["addresses"], flow["roles"]) == (["6443"], ["192.0.2.9/32"], "control_plane")
    assert CONTROLLER_ADDRESS not in str(hosts["host2"]) + str(hosts["host1"]["gpustack"])


def test_who_installed_before_stays_and_a_node_that_left_does_not() -> None:
    chain = "-N GPUSTACK-IN\n-A INPUT -j GPUSTACK-IN\n"
    accept = "-A GPUSTACK-IN -s {}/32 -p tcp -m multiport --dports {} -j ACCEPT\n"
    rules = DROP_RULES + chain + accept.format(EARLIER_ADDRESS, "6443") + accept.format("10.77.1.13", "6443,10250")
    assert list_controllers(build_view(take_snapshot(rules))) == ["192.0.2.10", "192.0.2.9"]
    assert list_api_clients(take_snapshot(rules, ["198.51.100.0/24"])) == {"198.51.100.0/24"}


@pytest.mark.parametrize("client", ["2001:db8::7", "10.77.1.12"])
def test_an_address_that_needs_no_rule_has_none(client: str) -> None:
    assert list_api_clients(take_snapshot(client=client)) == set()


def test_a_worker_has_no_client_of_its_own() -> None:
    snapshot = take_snapshot()
    answers = {(probe, "host2"): answer for (probe, host), answer in snapshot.answers.items() if host == "host1"}
    worker = build(HOSTS, answers | {("network.address", "host2"): snapshot.answers["network.address", "host2"]})
    assert list_controllers(build_view(worker)) == []


def test_without_the_address_nobody_is_let_in() -> None:
    snapshot = take_snapshot()
    answers = {key: answer for key, answer in snapshot.answers.items() if key[0] != "network.controller"}
    assert list_api_clients(replace(snapshot, answers=answers)) == set()


NODE_PORT = make_list(
    "proof.services",
    [{"metadata": {"name": "web", "namespace": "default"}, "spec": {"ports": [{"port": 80, "nodePort": 31080}]}}],
)
NO_NODE_PORT = make_list("proof.services", [{"metadata": {"name": "web", "namespace": "default"}, "spec": {}}])
MEMBER = make_answer("leftovers.kubernetes", API_URL)


@pytest.mark.parametrize(
    ("sources", "answers", "expected"),
    [
        (None, {"leftovers": MEMBER, "services": NODE_PORT}, False),
        ([], {"leftovers": MEMBER, "services": NODE_PORT}, False),
        (["192.0.2.0/24"], {"leftovers": MEMBER, "services": NODE_PORT}, True),
        (["192.0.2.0/24"], {"leftovers": MEMBER, "services": NO_NODE_PORT}, False),
        (["192.0.2.0/24"], {}, False),
    ],
    ids=["by default", "no client", "a Service has one", "no Service has one", "no cluster yet"],
)
def test_node_ports_let_clients_in_where_a_service_has_one(
    sources: Sequence[str] | None, answers: Mapping[str, Any], expected: bool
) -> None:
    snapshot = take_snapshot(sources=sources, **answers)
    assert uses_node_ports(build_view(snapshot)) is expected
    passes = list_expected_passes(build_view(snapshot), "iptables")
    assert ("in tcp 192.0.2.0/24 30000-32767" in passes) is expected


def test_services_that_a_cluster_does_not_tell_are_unknown() -> None:
    snapshot = take_snapshot(sources=["192.0.2.0/24"], leftovers=MEMBER)
    with pytest.raises(FactUnavailable):
        uses_node_ports(build_view(snapshot))
    assert judge_rules(snapshot)["ours-are-loaded"].outcome == "unknown"
    assert "flows" not in str(build_overlay(snapshot))


def test_a_rule_that_keeps_a_client_out_is_found() -> None:
    rules = "-A INPUT -s 10.0.0.0/8 -j ACCEPT\n-A INPUT -i lo -j ACCEPT\n"
    result = judge_rules(take_snapshot(DROP_RULES + rules))["flows-pass"].result
    assert result
    assert result.actual.startswith("tcp 6443 from 192.0.2.9 is blocked by the policy DROP")


@pytest.mark.parametrize(
    ("endpoint", "endpoint_addresses", "sources", "rules", "actual"),
    [
        ("kube.example.com:6443", "10.0.0.100\n", None, DROP_RULES, "not set, with the endpoint kube.example.com:6443"),
        ("10.0.0.100:6443", "", None, DROP_RULES, "not set, with the endpoint 10.0.0.100:6443"),
        ("kube.example.com:6443", "10.77.1.11\n", None, DROP_RULES, ""),
        ("10.77.1.11:6443", "", None, DROP_RULES, ""),
        ("kube.example.com:6443", "10.0.0.100\n", ["10.0.0.0/24"], DROP_RULES, ""),
        ("kube.example.com:6443", "10.0.0.100\n", None, OPEN, ""),
        ("", "", None, DROP_RULES, ""),
    ],
    ids=["name", "address", "own name", "own address", "named", "no firewall", "no endpoint"],
)
def test_a_load_balancer_has_to_be_named_as_a_client(
    endpoint: str, endpoint_addresses: str, sources: Sequence[str] | None, rules: str, actual: str
) -> None:
    base = take_snapshot(rules, sources)
    spec = {"firewall": {"sources": sources}, "kubernetes": {"endpoint": endpoint} if endpoint else {}}
    name = make_answer("network.endpoint-name", endpoint_addresses)
    judgement = judge_rules(build(HOSTS, {**base.answers, **place_answers("host1", name)}, spec))[
        "load-balancer-is-let-in"
    ]
    assert (judgement.result.actual if judgement.result else "") == actual
    assert judgement.result is None or judgement.result.cure == "operator"


def test_the_plan_says_who_may_connect() -> None:
    default = "Firewall: the API (6443) of host1 lets in nodes, pods and 192.0.2.9"
    node_ports = "NodePorts (30000-32767) let in nodes, pods and"
    assert describe_clients(take_snapshot()) == f"{default}; {node_ports} nobody else."
    assert describe_clients(take_snapshot(sources=["192.0.2.0/24"])).endswith(
        f"pods and 192.0.2.0/24; {node_ports} 192.0.2.0/24."
    )
    assert describe_clients(take_snapshot(sources=[])).startswith(
        "Firewall: the API (6443) of host1 lets in nodes, pods and nobody else"
    )
    assert describe_clients(take_snapshot(OPEN)) == "", "without a firewall everybody may"


def test_the_login_is_found_above_a_sudo_that_hides_it() -> None:
    script = format_command(CONTROLLER)
    for command in (["sh", "-c", script], ["env", "-i", "sh", "-c", 'sh -c "$0"; :', script]):
        env = os.environ | {"SSH_CONNECTION": "192.0.2.9 50814 10.77.1.11 22"}
        outer = ["sh", "-c", '"$@"; :', "sh", *command]
        answer = subprocess.run(outer, capture_output=True, text=True, env=env, check=True, timeout=60).stdout
        assert CONTROLLER.extract_fact(Answer(CONTROLLER.id, "h1", 0, answer)) == "192.0.2.9"
