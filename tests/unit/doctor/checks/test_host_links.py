"""The way out, who manages links, whose rules there are, and which name servers pods get."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import judge_cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("https://pkgs.k8s.io/ 0 0.012000 \n", "ok"),
        ("https://pkgs.k8s.io/ 6 0.000000 Could not resolve host: pkgs.k8s.io\n", "failed"),
        ("https://pkgs.k8s.io/ 28 0.000000 Connection timed out after 4001 milliseconds\n", "failed"),
        ("http://10.0.0.1:80 7 0.000000 Failed to connect to 10.0.0.1 port 80: No route to host\n", "failed"),
        ("http://10.0.0.1:80 7 0.000000 Failed to connect to 10.0.0.1 port 80: Connection refused\n", "ok"),
        ("http://10.0.0.1:80 28 0.004000 Operation timed out after 4001 milliseconds\n", "ok"),
        ("curl\n", "unknown"),
    ],
)
def test_an_unreachable_package_source_fails(output: str, outcome: str) -> None:
    """A source that refuses, or is slow, was reached."""
    assert judge_cluster("host-no-egress", place_answers("k1", make_answer("reach.source", output)))[0] == outcome


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("== systemd-networkd\n== NetworkManager\n", "ok"),
        ("== systemd-networkd\ncni0 configured\n== NetworkManager\n", "failed"),
        ("== systemd-networkd\n== NetworkManager\nflannel.1:connected (externally)\n", "ok"),
        ("== systemd-networkd\n== NetworkManager\nflannel.1:disconnected\n", "failed"),
        ("nmcli\n", "unknown"),
    ],
)
def test_pod_links_managed_by_networkmanager_fail(output: str, outcome: str) -> None:
    assert (
        judge_cluster(
            "host-networkmanager-owns-cni", place_answers("k1", make_answer("network.managed-links", output))
        )[0]
        == outcome
    )


@pytest.mark.parametrize(
    ("legacy", "nft", "table", "outcome"),
    [
        ("0 0 0", "2 15 105", "no", "ok"),
        ("2 15 105", "0 0 0", "no", "ok"),
        ("0 1 1", "2 15 105", "no", "failed"),
        ("2 15 105", "0 0 0", "yes", "failed"),
    ],
)
def test_rules_in_both_backends_fail(legacy: str, nft: str, table: str, outcome: str) -> None:
    stdout = f"== health\n0\n== legacy\n{legacy}\n== nft\n{nft}\n== table\n{table}\n"
    assert (
        judge_cluster("host-iptables-legacy-nft-mix", place_answers("k1", make_answer("kube-proxy.host", stdout)))[0]
        == outcome
    )


def test_a_loop_of_name_servers_fails() -> None:
    assert judge_cluster("host-resolv-stub-loop", {}) == ("ok", "10.255.255.53")
    looping_pods = read_case("resolver.pods", "control-plane", ("10.255.255.53", "127.0.0.53"))
    answers = {("resolver.pods", "k1"): looping_pods}
    assert judge_cluster("host-resolv-stub-loop", answers) == ("failed", "127.0.0.53")
    other_upstreams = read_case(
        "resolver.upstreams", "control-plane", ("forward . /etc/resolv.conf", "forward . 10.0.0.53")
    )
    assert (
        judge_cluster("host-resolv-stub-loop", answers | {("resolver.upstreams", CLUSTER): other_upstreams})[0] == "ok"
    )
    assert (
        judge_cluster("host-resolv-stub-loop", place_answers("k1", make_answer("resolver.pods", "x\n")))[0] == "unknown"
    )
