"""Two nodes do not reach each other: by a MAC, an address, a rule of theirs, or something on the path."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.unit.doctor.checks.pod_paths import ALL_TARGETS, PEER, make_paths
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots import firewall as packets
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

ADDRESSES = {"k1": "10.78.0.11", "k2": "10.78.0.12"}
MACS = {"k1": "4e:75:ed:3a:e1:8a", "k2": "de:95:aa:8d:15:4d"}
OTHER_ADDRESS = "02:00:00:00:00:99"
LOST_PATHS = dict.fromkeys(("overlay", "bridge", "bridge-large", "pod", "pod-echo", "pod-large"), "timeout")
LARGE = {"bridge-large": "timeout", "pod-large": "timeout"}
NO_VXLAN = packets.OPEN + "-A INPUT -p udp --dport 8472 -j DROP\n"
SHUT = make_paths(LOST_PATHS, LOST_PATHS)
Answers = Mapping[tuple[str, str], Answer]
ROUTE_LOST = {
    **place_answers("k1", read_case("flannel.routes", "control-plane")),
    **place_answers(
        "k2", read_case("flannel.routes", "route-lost"), make_answer("recent.packages", "1200 upgrade libc6 systemd\n")
    ),
}
"""k0sproject/k0s#5623: an upgrade of systemd took the route of Flannel away on one host."""


def build_annotations(addresses: Mapping[str, str] = ADDRESSES, macs: Mapping[str, str] = MACS) -> Answers:
    prefix = "flannel.alpha.coreos.com"
    items = [
        {
            "metadata": {
                "name": name,
                "annotations": {
                    f"{prefix}/public-ip": addresses[name],
                    f"{prefix}/backend-data": json.dumps({"VNI": 1, "VtepMAC": macs[name]}),
                },
            }
        }
        for name in addresses
    ]
    return place_answers(CLUSTER, make_answer("flannel.annotations", json.dumps({"items": items})))


def build_rules(host: str, text: str = packets.OPEN) -> Answers:
    return place_answers(
        host, make_answer("firewall.live", packets.format_rules(text).replace(packets.PLANE, ADDRESSES[host]))
    )


def link(host: str, mac: str = "", flags: str = "0x1003") -> Answers:
    return place_answers(host, make_answer("flannel.links", f"flannel.1 {mac or MACS[host]} {flags}\n"))


def build_snapshot(answer: Answer, *changes: Answers, location: str = "k1") -> Snapshot:
    answers_by_place: dict[tuple[str, str], Answer] = {**build_annotations(), ("pod-network.paths", location): answer}
    for host, address in ADDRESSES.items():
        route = f"192.0.2.1 via 10.78.0.1 dev host0 src {address} uid 0\\    cache\n"
        answers_by_place |= {
            **build_rules(host),
            **link(host),
            ("network.address", host): make_answer("network.address", route),
        }
    for change in changes:
        answers_by_place |= change
    return cluster.build_snapshot(answers_by_place)


def judge_at(id: str, answer: Answer, *changes: Answers, location: str = "k1") -> Judgement:
    return evaluate(id, build_snapshot(answer, *changes, location=location), location)


def test_nodes_that_reach_each_other_have_no_fault() -> None:
    for id in ("vxlan-mac-changed", "flannel-wrong-interface", "vxlan-port-blocked"):
        assert judge_at(id, make_paths({}, {})).outcome == "ok"


def test_what_is_stopped_on_the_way_is_confirmed_where_nothing_else_explains_it() -> None:
    outcome, actual = summarize(judge_at("vxlan-port-blocked", SHUT))
    assert (outcome, actual) == (
        "failed", "dropped to 10.244.1.0/24, with both ends configured correctly",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "changes", "reason"),
    [
        (SHUT, build_rules("k2", NO_VXLAN), "k2 blocks it"),
        (SHUT, link("k2", OTHER_ADDRESS), "Flannel's link of k2 has a different MAC address"),
        (SHUT, link("k1", OTHER_ADDRESS), "Flannel's link of k1 has a different MAC address"),
        (SHUT, link("k2", flags="0x1002"), "Flannel's link of k2 is down"),
        (SHUT, place_answers("k2", make_answer("flannel.links", "")), "Flannel's link of k2 is down"),
        (
            SHUT,
            build_annotations(addresses={**ADDRESSES, "k2": "10.0.2.15"}),
            "the neighbour entry for 10.244.1.0/24 differs",
        ),
        (
            SHUT,
            build_annotations(addresses=dict.fromkeys(ADDRESSES, "10.0.2.15")),
            "two nodes announce the same address or MAC",
        ),
        (
            SHUT,
            build_annotations(macs=dict.fromkeys(MACS, OTHER_ADDRESS)),
            "two nodes announce the same address or MAC",
        ),
        (SHUT, ROUTE_LOST, "k2 has no route to 10.244.0.0/24; apt: upgrade systemd 20 min ago"),
        # The host itself gets there: then it is what forwards for pods.
        (make_paths({}, LOST_PATHS), {}, "the overlay addresses of other nodes respond to this host"),
    ],
)
def test_another_explanation_refutes_a_blocked_port(answer: Answer, changes: Answers, reason: str) -> None:
    assert summarize(judge_at("vxlan-port-blocked", answer, changes)) == ("ok", reason)


def test_a_port_that_nothing_is_seen_to_block_is_a_guess() -> None:
    """The firewall of these hosts has no rule to change, so that its step is not offered."""
    result = judge_at("vxlan-port-blocked", SHUT).result
    assert result
    assert (result.certain, bool(result.person)) == (False, True)


def test_an_address_that_the_host_does_not_have_is_no_blocked_port() -> None:
    """Both ends have the address that Flannel announces, and it is that of another network (kubernetes#60835)."""
    peer, *kinds = (text.replace(ADDRESSES["k2"], "10.0.2.15") for text in (PEER, *ALL_TARGETS))
    paths = make_paths(LOST_PATHS, LOST_PATHS, peers=(peer,), kinds=kinds)
    annotations = build_annotations({**ADDRESSES, "k2": "10.0.2.15"})

    def judge_with(address: str) -> Judgement:
        line = f"2: host0    inet {address}/24 brd 10.78.0.255 scope global host0\\       valid_lft forever\n"
        addresses = place_answers("k2", make_answer("network.addresses", line))
        return judge_at("vxlan-port-blocked", paths, annotations, addresses)

    reason = "Flannel of k2 announces 10.0.2.15, which no link of its host has"
    assert summarize(judge_with(ADDRESSES["k2"])) == ("ok", reason)
    assert judge_with("10.0.2.15").outcome == "failed"


def test_an_address_that_an_annotation_gives_is_not_to_be_installed_again() -> None:
    """Flannel prefers the annotation to what its DaemonSet is given, so that no installation changes it."""
    annotations = build_annotations({"k1": "10.0.2.15", "k2": ADDRESSES["k2"]})
    ((place, answer),) = annotations.items()
    edit = ('"flannel.alpha.coreos.com/public-ip": "10.0.2.15"', '"flannel.alpha.coreos.com/public-ip-overwrite": ""')
    written_answer = replace(answer, stdout=answer.stdout.replace(edit[0], f"{edit[1]}, {edit[0]}"))
    result = judge_at("flannel-wrong-interface", SHUT, {place: written_answer}).result
    assert result
    assert "public-ip-overwrite of k1 gives it" in str(result.person)
    result = judge_at("flannel-wrong-interface", SHUT, annotations).result
    assert result
    assert not result.person


def test_a_rule_of_routing_is_no_blocked_port() -> None:
    taken_route = place_answers("k2", read_case("network.route-decisions", "taken"))
    reason = "k2 does not send packets to pods by Flannel's link"
    assert summarize(judge_at("vxlan-port-blocked", SHUT, taken_route)) == ("ok", reason)
    kept_route = place_answers("k2", read_case("network.route-decisions", "usual"))
    assert judge_at("vxlan-port-blocked", SHUT, kept_route).outcome == "failed"


def test_a_lost_route_is_no_blocked_port() -> None:
    diagnosis = diagnose(build_snapshot(SHUT, ROUTE_LOST))
    assert "vxlan-port-blocked" not in [root.id for root in diagnosis.roots]
    kept_route = place_answers("k2", read_case("flannel.routes", "worker"))
    assert judge_at("vxlan-port-blocked", SHUT, ROUTE_LOST, kept_route).outcome == "failed"


@pytest.mark.parametrize(
    ("routes", "end"),
    [("control-plane", "dropped to 10.244.1.0/24"), ("route-lost", "k1 has no route to 10.244.1.0/24")],
)
def test_a_missing_route_stands_beside_the_packets_that_are_lost(routes: str, end: str) -> None:
    answers = place_answers("k1", read_case("flannel.routes", routes))
    assert summarize(judge_at("st-pod-net-broken", SHUT, answers))[1].endswith(end)


def test_a_rule_of_this_host_is_named() -> None:
    judgement = judge_at("vxlan-port-blocked", SHUT, build_rules("k1", NO_VXLAN))
    assert judgement.outcome == "failed"
    assert judgement.result
    assert judgement.result.certain
    assert "is blocked by chain ip filter INPUT" in summarize(judgement)[1]
    # As soon as the rule is there, whether somebody has noticed or not.
    assert judge_at("vxlan-port-blocked", make_paths({}, {}), build_rules("k1", NO_VXLAN)).outcome == "failed"


def test_another_mac_confirms_the_fault() -> None:
    assert summarize(judge_at("vxlan-mac-changed", SHUT, link("k1", OTHER_ADDRESS))) == ("failed", OTHER_ADDRESS)
    assert judge_at("vxlan-mac-changed", SHUT, link("k2", OTHER_ADDRESS)).outcome == "ok"
    forgotten_paths = make_paths(
        LOST_PATHS, LOST_PATHS, peers=(PEER.replace(MACS["k2"], "-").replace(ADDRESSES["k2"], "-"),)
    )
    assert judge_at("vxlan-mac-changed", forgotten_paths).outcome == "failed"
    without_links = place_answers("k1", make_answer("flannel.links", ""))
    assert summarize(judge_at("vxlan-mac-changed", SHUT, without_links)) == (
        "ok",
        "no vxlan link of Flannel on this host",
    )
    lost_annotations = {
        ("flannel.annotations", CLUSTER): Answer("flannel.annotations", CLUSTER, -1, "", missing_reason="no API")
    }
    assert judge_at("vxlan-mac-changed", SHUT, lost_annotations).outcome == "unknown"


@pytest.mark.parametrize(
    ("addresses", "answer", "outcome"),
    [
        (ADDRESSES, SHUT, "ok"),
        (dict.fromkeys(ADDRESSES, "10.0.2.15"), SHUT, "failed"),
        ({"k1": "10.0.2.15", "k2": ADDRESSES["k2"]}, SHUT, "failed"),
        # A network of its own for pods.
        ({"k1": "10.9.0.11", "k2": "10.9.0.12"}, make_paths({}, {}), "ok"),
        # The other one is wrong, or this one has not registered yet.
        ({"k1": ADDRESSES["k1"], "k2": ADDRESSES["k1"]}, SHUT, "ok"),
        ({"k2": ADDRESSES["k2"]}, SHUT, "ok"),
    ],
)
def test_a_wrong_announced_address_fails(addresses: dict[str, str], answer: Answer, outcome: str) -> None:
    assert judge_at("flannel-wrong-interface", answer, build_annotations(addresses)).outcome == outcome


def test_an_address_of_a_separate_network_is_a_guess() -> None:
    separate_address = judge_at(
        "flannel-wrong-interface", SHUT, build_annotations({"k1": "10.0.2.15", "k2": ADDRESSES["k2"]})
    )
    doubled_address = judge_at(
        "flannel-wrong-interface", SHUT, build_annotations(dict.fromkeys(ADDRESSES, "10.0.2.15"))
    )
    assert separate_address.result
    assert doubled_address.result
    assert (separate_address.result.certain, doubled_address.result.certain) == (False, True)


def test_wrong_checksums_at_both_ends_fail() -> None:
    wrong, right, fixed_sums = (read_case("checksums.vxlan", case) for case in ("wrong", "worker", "fixed"))

    def judge_checksums(first: Answer, second: Answer) -> Judgement:
        return judge_at(
            "vxlan-checksum-offload", SHUT, {("checksums.vxlan", "k1"): first, ("checksums.vxlan", "k2"): second}
        )

    assert summarize(judge_checksums(wrong, right)) == ("failed", "incorrect: 12 from 10.78.0.12")
    assert judge_checksums(wrong, fixed_sums).outcome == "ok"
    assert judge_checksums(right, right).outcome == "ok"


@pytest.mark.parametrize(
    ("answer", "changes", "roots"),
    [
        (make_paths({}, {}), {}, {}),
        (SHUT, {}, {"vxlan-port-blocked": ("k1",)}),
        (SHUT, build_rules("k2", NO_VXLAN), {"vxlan-port-blocked": ("k2",)}),
        (SHUT, link("k2", OTHER_ADDRESS), {"vxlan-mac-changed": ("k2",)}),
        (make_paths(LARGE, LARGE), {}, {"mtu-too-large": ("k1",)}),
    ],
)
def test_one_root_explains_all_findings(answer: Answer, changes: Answers, roots: dict[str, tuple[str, ...]]) -> None:
    diagnosis = diagnose(build_snapshot(answer, changes))
    assert ({root.id: root.locations for root in diagnosis.roots}, diagnosis.unexplained_symptoms) == (roots, ())
