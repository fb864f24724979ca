"""The walk through rules judges a packet, for rules as iptables and nft print them."""

import json

import pytest

from gpustack.probes.firewall import iptables, nftables
from gpustack.probes.firewall.packet_filter import Filter, Packet, find_stop, list_passes

PEER = Packet("10.0.0.2", "tcp", 10250, "eth0", "10.0.0.1")
STRANGER = Packet("192.0.2.7", "tcp", 9, "eth0", "10.0.0.1")
SENT_PACKET = Packet("10.0.0.1", "tcp", 10250, "", "10.0.0.2", "eth0", "output")
FORWARDED_PACKET = Packet("10.244.1.5", "tcp", 443, "cni0", "192.0.2.7", "eth0", "forward")
OPEN = ["-P INPUT ACCEPT", "-P FORWARD ACCEPT", "-P OUTPUT ACCEPT"]


def parse_rules(*lines: str, policy: str = "ACCEPT") -> Filter:
    return iptables.parse_filter([f"-P INPUT {policy}", "-P FORWARD ACCEPT", *lines])


def explain_stop(packet_filter: Filter, packet: Packet) -> str:
    return str(find_stop(packet_filter, packet) or "")


@pytest.mark.parametrize(
    "line",
    [
        "-A INPUT -j DROP",
        "-A INPUT -j REJECT --reject-with icmp-host-prohibited",
        "-A INPUT -p tcp -j REJECT --reject-with tcp-reset",
        "-A INPUT -s 10.0.0.0/24 -j DROP",
        "-A INPUT ! -s 192.0.2.0/24 ! -i lo -j DROP",
        "-A INPUT -p tcp -m multiport --dports 1:100,10250 -j DROP",
        '-A INPUT -m comment --comment "no -j ACCEPT" -j DROP',
        "-A INPUT -m conntrack --ctstate NEW -j DROP",
        "-A INPUT -i eth+ -j DROP",
        "-A INPUT -m addrtype --dst-type LOCAL -j DROP",
    ],
)
def test_iptables_stops(line: str) -> None:
    assert explain_stop(parse_rules(line), PEER) == f"chain ip filter INPUT: {line}"


@pytest.mark.parametrize(
    "line",
    [
        "-A INPUT -p udp -j DROP",
        "-A INPUT -s 10.0.0.2/32 -p tcp -m tcp --dport 22 -j DROP",
        "-A INPUT -m conntrack --ctstate INVALID -j DROP",
        "-A INPUT ! -s 10.0.0.0/24 -j DROP",
        "-A INPUT -m set --match-set blocked src -j DROP",
        "-A INPUT -m limit --limit 3/min -j DROP",
        "-A INPUT -i wlan0 -j DROP",
        "-A INPUT -m addrtype --dst-type BROADCAST -j DROP",
        '-A INPUT -j LOG --log-prefix "dropped "',
        "-A FORWARD -j DROP",
    ],
)
def test_iptables_lets_pass(line: str) -> None:
    assert explain_stop(parse_rules(line), PEER) == ""


def test_the_first_verdict_counts() -> None:
    accept = "-A INPUT -s 10.0.0.2/32 -p tcp -m tcp --dport 10250 -j ACCEPT"
    assert explain_stop(parse_rules(accept, "-A INPUT -j DROP"), PEER) == ""
    assert explain_stop(parse_rules("-A INPUT -j DROP", accept), PEER) != ""
    assert explain_stop(parse_rules(accept, policy="DROP"), STRANGER) == "the policy DROP of chain ip filter INPUT"


def test_chains_are_walked_and_returned_from() -> None:
    site = ["-N SITE", "-A SITE -p tcp -m tcp --dport 9 -j RETURN", "-A SITE -j DROP", "-A INPUT -j SITE"]
    assert explain_stop(parse_rules(*site), STRANGER) == ""
    stop = find_stop(parse_rules(*site), PEER)
    assert stop
    assert stop.general
    assert str(stop) == "chain ip filter INPUT: -A INPUT -j SITE > -A SITE -j DROP"


def test_goto_does_not_come_back() -> None:
    assert explain_stop(parse_rules("-N SITE", "-A INPUT -g SITE", "-A INPUT -j ACCEPT", policy="DROP"), PEER) != ""


def test_a_loop_of_chains_ends() -> None:
    assert explain_stop(parse_rules("-N A", "-A A -j A", "-A INPUT -j A", policy="DROP"), PEER) != ""


def test_a_reject_in_forward_is_found_and_its_policy_is_not_one() -> None:
    """Flannel accepts at the end of FORWARD: before the policy, and after a rule that ends it."""
    policy = ["-P INPUT ACCEPT", "-P FORWARD DROP"]
    assert explain_stop(iptables.parse_filter(policy), FORWARDED_PACKET) == ""
    assert "REJECT" in explain_stop(iptables.parse_filter([*policy, "-A FORWARD -j REJECT"]), FORWARDED_PACKET)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["-P OUTPUT DROP"], "the policy DROP of chain ip filter OUTPUT"),
        (["-P OUTPUT ACCEPT", "-A OUTPUT -d 10.0.0.0/24 -j REJECT"], "-A OUTPUT -d 10.0.0.0/24 -j REJECT"),
        (["-P OUTPUT DROP", "-A OUTPUT -o eth0 -p tcp -m tcp --dport 10250 -j ACCEPT"], ""),
        (["-P OUTPUT DROP", "-A OUTPUT -o lo -j ACCEPT"], "the policy DROP of chain ip filter OUTPUT"),
        (["-P OUTPUT ACCEPT", "-A OUTPUT -m addrtype --dst-type LOCAL -j DROP"], ""),
        (["-P OUTPUT ACCEPT", "-A INPUT -j DROP"], ""),
    ],
)
def test_what_a_host_sends_is_asked_too(lines: list[str], reason: str) -> None:
    explanation = explain_stop(iptables.parse_filter(["-P INPUT ACCEPT", *lines]), SENT_PACKET)
    assert explanation.endswith(reason)
    assert bool(explanation) is bool(reason)
    assert str(SENT_PACKET) == "tcp 10250 to 10.0.0.2"


def test_only_a_rule_for_everything_is_general() -> None:
    specific, general = (
        find_stop(parse_rules(f"-A INPUT {condition}-j DROP"), PEER) for condition in ("-s 10.0.0.2/32 ", "-p tcp ")
    )
    assert specific
    assert not specific.general
    assert general
    assert general.general


def format_table(policy: str, *expressions: list[object], hook: str = "input", family: str = "inet") -> str:
    chain = {"family": family, "table": "t", "name": "c", "type": "filter", "hook": hook, "policy": policy}
    entries = [
        {"rule": {"family": family, "table": "t", "chain": "c", "expr": expression}} for expression in expressions
    ]
    return json.dumps({"nftables": [{"metainfo": {}}, {"chain": chain}, *entries]})


def match(expression: object, right: object, op: str = "==") -> dict[str, object]:
    return {"match": {"op": op, "left": expression, "right": right}}


SADDR = {"payload": {"protocol": "ip", "field": "saddr"}}
DPORT = {"payload": {"protocol": "tcp", "field": "dport"}}
STATE = {"ct": {"key": "state"}}


@pytest.mark.parametrize(
    "matches",
    [
        [],
        [match(SADDR, "10.0.0.2")],
        [match(SADDR, {"prefix": {"addr": "10.0.0.0", "len": 8}})],
        [match(SADDR, {"set": ["192.0.2.1", {"range": ["10.0.0.1", "10.0.0.9"]}]})],
        [match(SADDR, {"set": ["10.0.0.3", {"prefix": {"addr": "192.0.2.0", "len": 24}}]}, "!=")],
        [match(DPORT, {"range": [10000, 11000]})],
        [match(DPORT, 53, "!=")],
        [match({"meta": {"key": "iifname"}}, {"set": ["eth0", "eth1"]})],
        [match({"meta": {"key": "nfproto"}}, "ipv4")],
        [match(STATE, "new")],
        [match(STATE, ["new", "related"], "in")],
        [match({"fib": {"result": "type", "flags": ["daddr"]}}, "local")],
        [{"counter": {"packets": 1, "bytes": 2}}, {"log": {"prefix": "x"}}],
    ],
)
def test_nft_stops(matches: list[object]) -> None:
    assert find_stop(nftables.parse_filter([format_table("accept", [*matches, {"drop": None}])]), PEER)
    assert not find_stop(nftables.parse_filter([format_table("drop", [*matches, {"accept": None}])]), PEER)


@pytest.mark.parametrize(
    "matches",
    [
        [match(SADDR, "10.0.0.3")],
        [match(SADDR, "@blocked")],
        [match(SADDR, "10.0.0.2", "!=")],
        [match({"meta": {"key": "mark"}}, 4, "!=")],
        [match({"payload": {"protocol": "ip6", "field": "saddr"}}, "fe80::1")],
        [match({"meta": {"key": "nfproto"}}, "ipv6")],
        [match({"meta": {"key": "mark"}}, 4)],
        [match({"&": [{"meta": {"key": "mark"}}, 16384]}, 16384)],
        [match(STATE, ["established", "related"], "in")],
        [{"limit": {"rate": 3, "per": "minute"}}],
        [{"xt": None}],
    ],
)
def test_nft_lets_pass(matches: list[object]) -> None:
    assert not find_stop(nftables.parse_filter([format_table("accept", [*matches, {"drop": None}])]), PEER)


SADDR6 = {"payload": {"protocol": "ip6", "field": "saddr"}}
PEER6 = Packet("2001:db8::2", "tcp", 10250, "eth0", "2001:db8::1")


@pytest.mark.parametrize(
    ("family", "expression", "right", "stops"),
    [
        ("inet", SADDR6, {"prefix": {"addr": "2001:db8::", "len": 32}}, True),
        ("ip6", SADDR6, {"set": [{"range": ["2001:db8::1", "2001:db8::9"]}]}, True),
        ("ip6", DPORT, 10250, True),
        ("inet", {"meta": {"key": "nfproto"}}, "ipv6", True),
        ("inet", SADDR6, "2001:db8::3", False),
        ("inet", SADDR, {"range": ["0.0.0.0", "255.255.255.255"]}, False),
        ("inet", {"meta": {"key": "nfproto"}}, "ipv4", False),
        ("ip", DPORT, 10250, False),
    ],
)
def test_nft_matches_ipv6_addresses(family: str, expression: object, right: object, stops: bool) -> None:
    rules = nftables.parse_filter([format_table("accept", [match(expression, right), {"drop": None}], family=family)])
    assert bool(find_stop(rules, PEER6)) is stops


def test_iptables_of_each_version_asks_its_own_packets() -> None:
    lines = ["-P INPUT DROP", "-A INPUT -s 2001:db8::/32 -p tcp -m tcp --dport 22 -j ACCEPT"]
    rules = iptables.parse_filter(lines, "ip6")
    assert explain_stop(rules, PEER6) == "the policy DROP of chain ip6 filter INPUT"
    assert explain_stop(rules, PEER) == ""
    assert explain_stop(parse_rules(policy="DROP"), PEER6) == ""


def test_a_verdict_map_is_read() -> None:
    states = {"set": [["established", {"accept": None}], ["invalid", {"drop": None}], ["new", {"drop": None}]]}
    assert find_stop(nftables.parse_filter([format_table("accept", [{"vmap": {"key": STATE, "data": states}}])]), PEER)


def test_every_base_chain_is_asked() -> None:
    """An accept in one table does not keep the next from dropping: nft(8)."""
    first = format_table("accept", [{"accept": None}]).replace('"t"', '"a"')
    assert "inet t c" in explain_stop(nftables.parse_filter([first, format_table("drop")]), PEER)


def test_tables_of_other_families_are_not_ours_to_judge() -> None:
    assert not find_stop(nftables.parse_filter([format_table("drop", family="ip6")]), PEER)


def test_own_passes_say_what_is_let_in() -> None:
    _, chains = iptables.parse_chains(
        [
            "-N OWN",
            "-A OWN -i lo -j ACCEPT",
            "-A OWN -s 10.0.0.2/32 -p tcp -m multiport --dports 22,30000:32767 -j ACCEPT",
            "-A OWN -p udp -m udp --dport 53 -j ACCEPT",
            "-A OWN -s 10.0.0.3/32 -j DROP",
        ]
    )
    assert list_passes(chains["ip filter OWN"], "input") == {
        "in lo", "in tcp 10.0.0.2/32 22", "in tcp 10.0.0.2/32 30000-32767", "in udp 0.0.0.0/0 53",
    }  # fmt: skip


def test_own_passes_say_what_is_sent() -> None:
    lines = ["-N OWN", "-A OWN -o lo -j ACCEPT", "-A OWN -d 10.0.0.2/32 -p udp -m udp --dport 8472 -j ACCEPT"]
    _, chains = iptables.parse_chains([*lines, "-A OWN -d 10.244.0.0/16 -j ACCEPT"])
    assert list_passes(chains["ip filter OWN"], "output") == {
        "out lo", "out udp 10.0.0.2/32 8472", "out any 10.244.0.0/16 all",
    }  # fmt: skip


def test_a_chain_that_nobody_jumps_to_is_not_asked() -> None:
    lines = ["-N OWN", "-A OWN -j ACCEPT"]
    assert list(parse_rules(*lines).chains) == []
    assert list(parse_rules(*lines, "-A INPUT -j OWN").chains) == ["ip filter INPUT", "ip filter OWN"]


@pytest.mark.parametrize(
    ("lines", "stops"),
    [
        (["-P INPUT ACCEPT", "-A INPUT -j OWN", "-N OWN", "-A OWN -j ACCEPT"], False),
        (["-P INPUT ACCEPT", "-A INPUT -j OWN", "-N OWN", "-A OWN -s 10.0.0.1/32 -j REJECT"], True),
        (["-P INPUT ACCEPT", "-P FORWARD DROP"], True),
    ],
)
def test_only_a_rule_or_a_policy_that_drops_stops_a_packet(lines: list[str], stops: bool) -> None:
    assert iptables.parse_filter(lines).can_stop is stops
