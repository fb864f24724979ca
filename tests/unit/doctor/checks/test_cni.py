"""Flannel's settings, file and bridge; what a host forwards; whose addresses it has; pods without a sandbox."""

from dataclasses import replace

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots import firewall as packets
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

MEMBER, BARE = read_case("leftovers.kubernetes", "worker-of-ours"), read_case("leftovers.kubernetes", "fresh-debian-12")
RUNTIME = read_case("containerd.runtime", "prepared-debian-12")
READY, NOT_READY = ("READY=yes", "READY=yes"), ("READY=yes", "READY=no")
FILE = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"
NETWORK = "10.244.0.0/16"


def judge_at(id: str, *answers: Answer, location: str = "k2") -> Judgement:
    answers_by_place = {}
    for answer in answers:
        location_of_answer = (
            CLUSTER if answer.probe.startswith(("kube.", "pods.")) or answer.probe in PROBES_WITHOUT_HOST else location
        )
        answers_by_place[answer.probe, location_of_answer] = answer
    snapshot = cluster.build_snapshot({("leftovers.kubernetes", location): MEMBER, **answers_by_place})
    return evaluate(id, snapshot, CLUSTER if id == "flannel-cidr-mismatch" else location)


PROBES_WITHOUT_HOST = ("flannel.net-conf", "flannel.daemon-set", "flannel.annotations")


@pytest.mark.parametrize(("network", "outcome"), [(NETWORK, "ok"), ("10.240.0.0/12", "ok"), ("10.32.0.0/16", "failed")])
def test_flannels_network_holds_the_ranges_of_nodes(network: str, outcome: str) -> None:
    conf = read_case("flannel.net-conf", "control-plane", (NETWORK, network))
    assert judge_at("flannel-cidr-mismatch", conf).outcome == outcome


def test_a_node_without_a_range_fails() -> None:
    bare = read_case("kube.nodes", "control-plane", ('"podCIDR":"10.244.1.0/24"', '"podCIDR":""'))
    assert [judge_at("flannel-podcidr-unassigned", bare, location=host).outcome for host in ("k1", "k2")] == [
        "ok", "failed",
    ]  # fmt: skip
    stranger = make_answer("system.identity", "0123456789abcdef0123456789abcdef\n\n")
    assert summarize(judge_at("flannel-podcidr-unassigned", bare, stranger)) == ("ok", "the host is not a node")


@pytest.mark.parametrize(
    ("case", "edits", "file", "guard", "crash"),
    [
        ("worker", (), "ok", "failed", "ok"),
        ("worker", ((FILE, ""),), "failed", "failed", "ok"),
        ("worker", ((FILE, ""), NOT_READY), "failed", "ok", "failed"),
        ("worker", (NOT_READY,), "ok", "ok", "failed"),
        ("fresh", (), "ok", "ok", "failed"),
    ],
)
def test_flannels_file_and_pod_are_judged_apart(
    case: str, edits: tuple[tuple[str, str], ...], file: str, guard: str, crash: str
) -> None:
    flannel = read_case("flannel.host", case, *edits)
    ids = ("flannel-subnet-env-missing", "flannel-subnet-env-missing guard", "st-flannel-crash")
    assert [judge_at(id, flannel).outcome for id in ids] == [file, guard, crash]


def test_flannel_that_is_not_installed_does_not_crash() -> None:
    fresh = read_case("flannel.host", "fresh")
    none_answer = make_answer("flannel.daemon-set", '{"items":[]}')
    assert summarize(judge_at("st-flannel-crash", fresh, none_answer)) == ("ok", "Flannel is not installed")
    assert summarize(judge_at("st-flannel-crash", fresh, BARE)) == ("ok", "the host is not in a cluster yet")
    lost_answer = Answer("flannel.daemon-set", CLUSTER, -1, "", missing_reason="no API")
    assert judge_at("st-flannel-crash", fresh, lost_answer).outcome == "unknown"
    judgements = [
        judge_at("st-flannel-crash -> st-node-notready", read_case("flannel.host", case))
        for case in ("fresh", "worker")
    ]
    assert [judgement.outcome for judgement in judgements] == ["failed", "ok"]


@pytest.mark.parametrize(
    ("addresses", "outcome"),
    [("10.244.1.1/24", "ok"), ("10.99.0.1/24", "failed"), ("10.244.0.1/24", "failed"), ("", "ok"),
     ("10.9.9.9/24\n10.244.1.1/24", "ok")],
)  # fmt: skip
def test_a_bridge_of_another_range_fails(addresses: str, outcome: str) -> None:
    bridge = make_answer("network.bridge", f"{addresses}\n" if addresses else "")
    assert judge_at("cni0-stale-address", bridge, read_case("flannel.host", "worker")).outcome == outcome


def test_missing_programs_of_cni_fail() -> None:
    all_programs, fewer_programs = read_case("cni.programs", "worker"), read_case("cni.programs", "no-loopback")
    assert judge_at("cni-plugin-binaries-missing", all_programs, RUNTIME).outcome == "ok"
    outcome, actual = summarize(judge_at("cni-plugin-binaries-missing", fewer_programs, RUNTIME))
    assert (outcome, actual) == ("failed", "no loopback in /opt/cni/bin, or not executable on this host")
    assert judge_at("cni-plugin-binaries-missing", fewer_programs, RUNTIME, BARE).outcome == "ok"
    flannel_later = make_answer("cni.programs", all_programs.stdout.replace("flannel\n", ""))
    fresh = read_case("flannel.host", "fresh")
    assert judge_at("cni-plugin-binaries-missing", flannel_later, RUNTIME, fresh).outcome == "ok"
    assert judge_at("cni-plugin-binaries-missing", flannel_later, RUNTIME).outcome == "failed"


def test_programs_that_a_mount_forbids_to_run_are_not_missing() -> None:
    """A new installation of the programs would change nothing (projectcalico/cni-plugin#891)."""
    programs, mounts = read_case("cni.programs", "noexec"), read_case("host.noexec", "opt")
    judgement = judge_at("cni-plugin-binaries-missing", programs, RUNTIME, mounts)
    assert (judgement.outcome, judgement.reason) == (
        "unknown", "nothing in /opt/cni/bin can be run: it is mounted noexec",
    )  # fmt: skip
    assert (
        judge_at("cni-plugin-binaries-missing", programs, RUNTIME, read_case("host.noexec", "usual")).outcome
        == "failed"
    )


def test_programs_where_containerd_does_not_look_are_missing() -> None:
    """Debian's own containerd looks in a folder that kubernetes-cni does not fill."""
    debian = read_case("containerd.runtime", "prepared-debian-12", ('"/opt/cni/bin"', '"/usr/lib/cni"'))
    outcome, actual = summarize(judge_at("cni-plugin-binaries-missing", read_case("cni.programs", "worker"), debian))
    assert outcome == "failed"
    assert "in /usr/lib/cni" in actual


@pytest.mark.parametrize(
    ("links", "vxlan", "outcome"),
    [("worker", "missing", "ok"), ("none", "missing", "failed"), ("none", "loadable", "ok")],
)
def test_a_kernel_without_vxlan_fails(links: str, vxlan: str, outcome: str) -> None:
    judgement = judge_at("vxlan-module-missing", read_case("flannel.links", links), read_case("cni.vxlan", vxlan))
    assert judgement.outcome == outcome


ACCEPTING = "-A FORWARD -s 10.244.0.0/16 -j ACCEPT\n-A FORWARD -d 10.244.0.0/16 -j ACCEPT\n"
DROP = packets.OPEN.replace("-P FORWARD ACCEPT", "-P FORWARD DROP")


@pytest.mark.parametrize(
    ("rules", "case", "bridge", "outcome"),
    [
        (packets.OPEN, "worker", "worker", "ok"),
        # Docker's policy does no harm while Flannel's rules accept; without a bridge nobody needs them.
        (DROP, "docker", "worker", "ok"),
        (DROP, "flushed", "worker", "failed"),
        (DROP, "docker-before-flannel", "worker", "failed"),
        (DROP, "flushed", "none", "ok"),
        (DROP + ACCEPTING, "flushed", "worker", "ok"),
        (packets.OPEN + "-A FORWARD -j DROP\n", "worker", "worker", "failed"),
        # What rejects is another fault; what keeps strangers from pods does the cluster no harm.
        (packets.OPEN + "-A FORWARD -j REJECT --reject-with icmp-host-prohibited\n", "worker", "worker", "ok"),
        (packets.OPEN + "-A FORWARD -s 192.0.2.0/24 -j DROP\n", "worker", "worker", "ok"),
        # A rule for the names that pods ask for, inside or outside the cluster.
        (packets.OPEN + "-A FORWARD -s 10.244.0.0/16 -p udp --dport 53 -j DROP\n", "worker", "worker", "failed"),
        (packets.OPEN + "-A FORWARD ! -d 10.244.0.0/16 -p udp --dport 53 -j DROP\n", "worker", "worker", "failed"),
    ],
)  # fmt: skip
def test_a_drop_policy_of_forward_fails(rules: str, case: str, bridge: str, outcome: str) -> None:
    before = packets.build_snapshot(packets.format_rules(rules))
    forwarding = place_answers("host1", read_case("cni.forwarding", case))
    forwarding |= place_answers("host1", read_case("network.bridge", bridge))
    judgement = evaluate("forward-policy-drop", replace(before, answers={**before.answers, **forwarding}), "host1")
    assert judgement.outcome == outcome, summarize(judgement)


@pytest.mark.parametrize(
    ("routes", "servers", "host_network", "outcome"),
    [
        ("", "10.0.0.2", "10.78.0.12/24", "ok"),
        ("10.244.0.0/24 host1 -\n", "10.0.0.2", "10.78.0.12/24", "failed"),
        ("10.100.0.0/24 tun0 10.9.0.1\n", "10.0.0.2", "10.78.0.12/24", "failed"),
        # With host-gw a route to each node; and a host that asks the cluster's own DNS.
        ("10.244.1.0/24 host0 10.78.0.12\n", "10.96.0.10", "10.78.0.12/24", "ok"),
        ("", "10.244.0.53", "10.78.0.12/24", "failed"),
        ("", "fd00::1", "10.78.0.12/24", "ok"),
        # Its route is wider than the network of the Services.
        ("", "10.0.0.2", "10.96.3.4/8", "failed"),
    ],
)
def test_overlapping_ranges_fail(routes: str, servers: str, host_network: str, outcome: str) -> None:
    resolver = make_answer("nameservers.pods", f"== /etc/resolv.conf\n{servers}\n")
    address = make_answer("network.address", "192.0.2.1 via 10.78.0.1 dev host0 src 10.78.0.12 uid 0\\    cache\n")
    addresses = make_answer(
        "network.addresses", f"2: host0    inet {host_network} scope global host0\n5: cni0    inet 10.244.1.1/24\n"
    )
    routes_answer = make_answer("network.routes", routes)
    judgement = judge_at("cidr-overlaps-host-network", routes_answer, resolver, address, addresses)
    assert judgement.outcome == outcome, summarize(judgement)


def test_pods_without_a_sandbox_confirm_the_state() -> None:
    """A pod that begun has one, whatever an older event says; and events of pods that are gone say nothing."""
    waiting, failures = read_case("pods.starting", "waiting"), read_case("pods.sandbox-failures", "no-subnet-file")
    outcome, actual = summarize(judge_at("st-sandbox-fails", waiting, failures))
    assert outcome == "failed"
    assert actual.startswith("kube-system/coredns-1: Failed to create pod sandbox")
    assert judge_at("st-sandbox-fails", waiting, failures, location="k1").outcome == "ok"
    assert judge_at("st-sandbox-fails", read_case("pods.starting", "control-plane"), failures).outcome == "ok"
    assert judge_at("st-sandbox-fails", waiting, read_case("pods.sandbox-failures", "none")).outcome == "ok"


def test_the_cause_at_the_end_of_a_message_is_shown() -> None:
    waiting, failures = read_case("pods.starting", "waiting"), read_case("pods.sandbox-failures", "apparmor-complain")
    _, actual = summarize(judge_at("st-sandbox-fails", waiting, failures))
    assert actual.endswith("unable to start container process: namespace NEWIPC is not supported: unknown")


def test_kube_proxy_waits_for_its_sandbox() -> None:
    id, failures = "containerd-cgroup-driver -> kube-proxy-down", read_case("pods.sandbox-failures", "no-subnet-file")
    waiting = read_case("pods.starting", "waiting", ("coredns-1", "kube-proxy-1"))
    proxy = replace(failures, stdout=failures.stdout.replace("uid-coredns-1", "uid-kube-proxy-1"))
    assert judge_at(id, waiting, proxy).outcome == "failed"
    assert judge_at(id, waiting, proxy, location="k1").outcome == "ok"
    assert judge_at(id, read_case("pods.starting", "waiting"), failures).outcome == "ok"
