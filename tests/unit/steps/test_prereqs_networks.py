"""Endpoint and networks of the cluster, judged on hosts that are in none: they are fixed when it is created."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import Answer
from gpustack.config.host import HostSpec
from gpustack.errors import RolloutError
from gpustack.rollout.addresses import refuse_creation
from gpustack.steps import STEPS
from gpustack.steps.prereqs.step import STEP
from gpustack.steps.step import Step
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.hosts import H1, H2, build_snapshot, judge
from tests.worlds.snapshots.judge import list_failures

H1_BY_NAME = replace(H1, address="gpu-box", spec=HostSpec())
"""A control plane that is reached by a name, such as an alias of ~/.ssh/config."""
H1_ADDRESS = "10.77.1.11"
LINKS = "1: lo    inet 127.0.0.1/8 scope host lo\n2: host0    inet {}/24 brd 10.0.0.255 scope global host0\n"
MEMBER = read_case("leftovers.kubernetes", "ready-debian-12", ("10.77.0.11", H1_ADDRESS))


def resolve_name(h1: str = H1_ADDRESS, h2: str = H1_ADDRESS) -> dict[tuple[str, str], Answer]:
    """Return what the hosts resolve the endpoint to: addresses with commas between, or none."""
    return {
        ("network.endpoint-name", host): make_answer(
            "network.endpoint-name", "".join(f"{address}\n" for address in addresses.split(",") if address)
        )
        for host, addresses in (("h1", h1), ("h2", h2))
    }


def judge_endpoint(changed_answers: Answers, spec: Mapping[str, Any] | None = None, on: str = "h2") -> Judgement:
    return judge(STEP, changed_answers, spec, on, hosts=(H1_BY_NAME, H2), state="fresh")["api-endpoint"]


def set_endpoint(endpoint: str) -> dict[str, Any]:
    return {"kubernetes": {"version": "1.36.4", "endpoint": endpoint}}


def test_an_address_needs_no_resolving() -> None:
    assert list_failures(judge(STEP, resolve_name("", ""), on="h2")) == {}


@pytest.mark.parametrize(
    ("h1", "h2", "actual"),
    [
        (H1_ADDRESS, H1_ADDRESS, None),
        ("127.0.1.1", H1_ADDRESS, None),
        (H1_ADDRESS, "", "no address"),
        (H1_ADDRESS, "203.0.113.5", "203.0.113.5"),
        (H1_ADDRESS, "127.0.1.1", "127.0.1.1"),
        (H1_ADDRESS, f"{H1_ADDRESS},203.0.113.5", f"{H1_ADDRESS}, 203.0.113.5"),
    ],
    ids=["alike", "Debian's own name", "unknown name", "NAT", "a copied /etc/hosts", "two addresses"],
)
def test_a_name_that_is_no_address_of_the_control_plane_is_refused(h1: str, h2: str, actual: str | None) -> None:
    result = judge_endpoint(resolve_name(h1, h2)).result
    assert judge_endpoint(resolve_name(h1, h2), on="h1").outcome == "ok"
    if actual is None:
        assert result is None
        return
    assert result
    assert (result.actual, result.cure) == (actual, "operator")
    assert result.expected == f"an address of h1: {H1_ADDRESS}"
    assert result.hint.body == "set gpustack_node_ip of h1 in the inventory"


def test_the_name_of_a_load_balancer_resolves_alike_on_all_hosts() -> None:
    spec = set_endpoint("kube.example.com:6443")
    assert judge_endpoint(resolve_name("10.0.0.100", "10.0.0.100"), spec).outcome == "ok"
    assert judge_endpoint(resolve_name("127.0.0.1", H1_ADDRESS), spec).outcome == "ok"
    result = judge_endpoint(resolve_name("10.0.0.100", "10.0.0.101"), spec).result
    assert result
    assert (result.actual, result.expected) == ("10.0.0.101", f"an address of h1: 10.0.0.100, {H1_ADDRESS}")
    assert result.hint.startswith("getent ahostsv4 kube.example.com")
    result = judge_endpoint(resolve_name("127.0.0.1", "127.0.0.1"), spec).result
    assert result
    assert result.actual == "127.0.0.1"


def test_a_stated_address_may_be_a_load_balancer_s() -> None:
    for endpoint in ("203.0.113.5:6443", "[2001:db8::5]:6443"):
        assert judge_endpoint(resolve_name("", ""), set_endpoint(endpoint)).outcome == "ok"


def test_a_name_that_could_not_be_resolved_in_time_is_unknown() -> None:
    late = {("network.endpoint-name", "h2"): make_answer("network.endpoint-name", "", rc=124)}
    assert judge_endpoint(resolve_name() | late).outcome == "unknown"


@pytest.mark.parametrize(
    ("answers", "actual"),
    [
        (
            [make_answer("network.addresses", LINKS.format("10.96.3.4"))],
            "address 10.96.3.4 of host0 in the network of services",
        ),
        ([make_answer("network.routes", "10.100.0.0/16 host0 -\n")], "route 10.100.0.0/16 by host0"),
        ([make_answer("network.routes", "10.244.7.0/24 host0 10.77.2.1\n")], "route 10.244.7.0/24 by 10.77.2.1"),
        (
            [make_answer("nameservers.pods", "== /run/systemd/resolve/resolv.conf\n10.96.0.2\n")],
            "name server 10.96.0.2 in the network of services",
        ),
        (
            [make_answer("nameservers.pods", "== /etc/resolv.conf\n10.96.0.10\n")],
            "name server 10.96.0.10 in the network of services",
        ),
    ],
    ids=["address", "VPC", "gateway", "resolver", "resolver with the address of the cluster's DNS"],
)
def test_networks_that_a_host_uses_are_refused(answers: list[Any], actual: str) -> None:
    placed_answers = place_answers("h2", *answers)
    result = judge(STEP, placed_answers, on="h2", state="fresh")["networks"].result
    assert result
    assert (result.actual, result.cure) == (actual, "operator")
    assert "kubernetes.service_cidr" in result.hint
    member = placed_answers | place_answers("h2", MEMBER)
    assert judge(STEP, member, on="h2", state="fresh")["networks"].outcome == "ok", "the doctor's from then on"


def test_links_of_an_earlier_pod_network_are_no_network_of_the_site() -> None:
    text = LINKS.format("10.77.1.12") + "3: cni0    inet 10.244.1.1/24\n4: flannel.1    inet 10.244.1.0/32\n"
    answers = place_answers("h2", make_answer("network.addresses", text))
    assert judge(STEP, answers, on="h2", state="fresh")["networks"].outcome == "ok"


def test_a_control_plane_whose_etcd_would_be_on_no_disk_of_its_own_is_refused() -> None:
    for kind in ("nfs4", "tmpfs", "fuse.sshfs"):
        answers = {("etcd.file-system", host): make_answer("etcd.file-system", f"{kind}\n") for host in ("h1", "h2")}
        assert list_failures(judge(STEP, answers)) == {"etcd-disk": (kind, "operator")}
        assert list_failures(judge(STEP, answers, on="h2")) == {}
        assert list_failures(judge(STEP, answers | place_answers("h1", MEMBER))) == {}


def refuse(changed_answers: Answers, steps: Sequence[Step] = STEPS, **world: Any) -> str:
    """Return the reason of the refusal, or an empty text."""
    try:
        refuse_creation(build_snapshot(changed_answers, state="fresh", **world), steps)
    except RolloutError as error:
        return error.reason if error.reference == "creation-refused" else error.reference
    return ""


def test_no_cluster_is_created_with_a_setting_that_is_wrong_on_any_host() -> None:
    assert refuse({}) == ""
    wrong = resolve_name(h2="203.0.113.5") | place_answers(
        "h2", make_answer("network.routes", "10.96.0.0/16 host0 -\n")
    )
    assert refuse(wrong, hosts=(H1_BY_NAME, H2)).splitlines() == [
        f"h2: endpoint of the API, gpu-box: expected an address of h1: {H1_ADDRESS}, actual 203.0.113.5",
        "h2: pod and service networks: expected not used otherwise, actual route 10.96.0.0/16 by host0",
    ]


def test_what_is_a_node_s_own_keeps_no_other_host_from_the_cluster() -> None:
    name = make_answer("system.hostname", "no_node\n")
    assert "no_node" in refuse(place_answers("h1", name))
    assert refuse(place_answers("h2", name)) == ""


def test_a_cluster_that_exists_is_not_refused() -> None:
    wrong = place_answers("h2", make_answer("network.routes", "10.96.0.0/16 host0 -\n"))
    assert refuse(wrong)
    assert refuse(wrong | place_answers("h1", MEMBER)) == ""
    assert refuse(wrong, unreached_hosts=["h1"]), "the answers of the control plane are those of a fresh host"


def test_steps_that_create_no_cluster_are_not_refused() -> None:
    wrong = place_answers("h2", make_answer("network.routes", "10.96.0.0/16 host0 -\n"))
    assert refuse(wrong, [step for step in STEPS if step.id == "control-plane"])
    assert refuse(wrong, [step for step in STEPS if step.id == "firewall"]) == ""
