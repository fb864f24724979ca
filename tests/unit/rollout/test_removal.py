"""A reset would take a cluster and a node, leave what others own, and name what is unknown."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from gpustack.ask.probe import Answer
from gpustack.config.host import HostSpec
from gpustack.rollout.removal import judge_removal
from tests.worlds.snapshots.reset_hosts import (
    HOSTS,
    PLANE,
    WORKER,
    build_node,
    build_nodes,
    build_snapshot,
    render_machine_id,
)

ALL_HOSTS = {"k1": PLANE, "k2": WORKER}
PACKAGES = (
    "== history\ncontainerd.io\ncurl\nkubelet\nlibcurl4\nsocat\n"
    "== states\ncontainerd.io hold installed\ncurl install installed\nkubelet hold installed\n"
    "libcurl4 install installed\nsocat install deinstalled\ncri-tools install installed\n"
    "== needs\ncurl libcurl4\ngit curl\nkubelet curl\n"
)


def test_bare_hosts_have_nothing() -> None:
    removal = judge_removal(build_snapshot(), ())
    assert (removal.due_hosts, removal.foreign_hosts, removal.orphans, removal.unreachable_hosts) == ((), (), (), ())


def test_a_whole_cluster_names_its_cluster_and_drains_nobody() -> None:
    one_host, two, three = judge_removal(
        build_snapshot(ALL_HOSTS, build_nodes(build_node("k1"), build_node("k2"))), ()
    ).hosts
    assert one_host.cluster == two.cluster == "gpustack at https://10.0.0.1:6443"
    assert three.cluster == ""
    assert (one_host.node, two.node, two.drain) == ("", "", False)
    assert two.pods == ("default/web", "kube-system/kube-proxy-x")
    assert [step for step, _ in two.traces] == ["flannel", "control-plane"], "the last step first"
    assert not three.due


@pytest.mark.parametrize("ready", [True, False])
def test_a_worker_alone_has_its_node_deleted_and_drained_when_it_is_ready(ready: bool) -> None:
    (two,) = judge_removal(
        build_snapshot(ALL_HOSTS, build_nodes(build_node("k1"), build_node("k2", ready=ready))), ["k2"]
    ).hosts
    assert (two.node, two.drain, two.unknown) == ("k2", ready, ())


@pytest.mark.parametrize(
    ("values", "mine"),
    [
        ({}, build_node("k9", address="10.0.0.2", id=render_machine_id("k2"))),
        ({"system.hostname": "new-name\n"}, build_node("k2")),
        ({"network.address": "192.0.2.1 via 10.9.9.1 dev eth1 src 10.9.9.9 uid 0\n"}, build_node("k2")),
    ],
    ids=["node of another name", "host was renamed", "default route elsewhere"],
)
def test_a_node_is_the_host_s_by_its_machine_id_and_its_address(values: dict[str, str], mine: dict[str, Any]) -> None:
    (two,) = judge_removal(
        build_snapshot({"k1": PLANE, "k2": WORKER | values}, build_nodes(build_node("k1"), mine)), ["k2"]
    ).hosts
    assert (two.node, two.unknown) == (mine["metadata"]["name"], ())


OUTSIDE_NODES: tuple[tuple[dict[str, str], dict[str, Any]], ...] = (
    ({}, build_node("k2", address="10.9.9.9")),
    (
        {"system.hostname": "gpu-7.example.com\n"},
        build_node("gpu-7.example.com", address="10.9.9.9", id=render_machine_id("k2")),
    ),
    # All that the host says is of a node that is in the cluster and not in this inventory.
    (
        {
            "system.identity": f"{render_machine_id('x9')}\n\n",
            "system.hostname": "x9\n",
            "network.address": "192.0.2.1 via 10.0.0.254 dev eth0 src 10.9.9.9 uid 0\n",
            "network.addresses": "2: eth0    inet 10.9.9.9/24 brd 10.0.0.255\n",
        },
        build_node("x9", address="10.9.9.9"),
    ),
)


@pytest.mark.parametrize(
    ("values", "mine"), OUTSIDE_NODES, ids=["its name", "its name and an alias", "all that it says"]
)
def test_a_node_that_ssh_did_not_reach_is_not_drained(values: dict[str, str], mine: dict[str, Any]) -> None:
    snapshot = build_snapshot({"k1": PLANE, "k2": WORKER | values}, build_nodes(build_node("k1"), mine))
    (two,) = judge_removal(snapshot, ["k2"]).hosts
    assert (two.node, two.drain) == ("", False)
    assert two.unknown[0].endswith("has its machine-id, but the address 10.9.9.9 and not 10.0.0.2")
    k1, k2, k3 = HOSTS
    hosts = (k1, replace(k2, spec=HostSpec(gpustack_node_ip=IPv4Address("10.9.9.9"))), k3)
    configured_snapshot = replace(snapshot, inventory=replace(snapshot.inventory, hosts=hosts))
    (two,) = judge_removal(configured_snapshot, ["k2"]).hosts
    assert (two.node, two.unknown) == (mine["metadata"]["name"], ())


CLAIM = {"system.identity": f"{render_machine_id('k3')}\n\n"}
ALL_CLAIMS = CLAIM | {
    "system.hostname": "k3\n",
    "network.addresses": "1: lo    inet 127.0.0.1/8 scope host lo\n2: eth0    inet 10.0.0.3/24 brd 10.0.0.255\n",
}


@pytest.mark.parametrize(
    ("values", "victim", "silent"),
    [
        (CLAIM, build_node("k3"), ()),
        (CLAIM, build_node("k3"), ("k3",)),
        (ALL_CLAIMS, build_node("k3"), ()),
        (ALL_CLAIMS, build_node("k3"), ("k3",)),
        (CLAIM, build_node("stranger", address="10.0.0.77", id=render_machine_id("k3")), ("k3",)),
        (ALL_CLAIMS, build_node("k3", address="10.0.0.99"), ("k3",)),
    ],
    ids=["its id", "of a dead host", "all of it", "all of a dead host's", "of a host outside", "its name"],
)
def test_a_host_that_tells_another_s_machine_id_does_not_get_that_node_drained(
    values: dict[str, str], victim: dict[str, Any], silent: tuple[str, ...]
) -> None:
    hosts = {"k1": PLANE, "k2": WORKER | values, "k3": WORKER}
    (two,) = judge_removal(
        build_snapshot(hosts, build_nodes(build_node("k1"), victim), unreached_hosts=silent), ["k2"]
    ).hosts
    assert (two.node, two.drain) == ("", False)
    assert "machine-id" in two.unknown[0]


def test_a_worker_whose_api_does_not_answer_is_reset_and_its_node_is_unknown() -> None:
    (two,) = judge_removal(build_snapshot(ALL_HOSTS), ["k2"]).hosts
    assert two.due
    assert two.node == ""
    assert [text.partition(":")[0] for text in two.unknown] == ["node of this host in the cluster"]


def test_a_worker_without_any_cluster_is_not_asked_for_a_node() -> None:
    (two,) = judge_removal(build_snapshot(), ["k2"]).hosts
    assert not two.due


def test_a_host_of_another_cluster_is_named() -> None:
    other_cluster = WORKER | {"leftovers.kubernetes": "https://old.example:6443\n"}
    (two,) = judge_removal(build_snapshot({"k1": PLANE, "k2": other_cluster}, build_nodes()), ["k2"]).hosts
    assert two.foreign == "it is a node (k2) of another cluster, at old.example:6443"
    assert "gpustack" not in two.cluster


def test_a_control_plane_that_gpustack_did_not_make_is_foreign() -> None:
    plane = PLANE | {"owned.membership": PLANE["owned.membership"].replace("yes\n== etcd", "no\n== etcd")}
    assert [host_removal.host for host_removal in judge_removal(build_snapshot({"k1": plane}), ()).foreign_hosts] == [
        "k1"
    ]


def test_a_host_of_an_unknown_cluster_counts_as_foreign() -> None:
    late = Answer("leftovers.kubernetes", "k2", 124, "")
    (two,) = judge_removal(build_snapshot(ALL_HOSTS, build_nodes(), late), ["k2"]).foreign_hosts
    assert "is unknown" in two.foreign


def test_workers_outside_would_be_left_alone() -> None:
    assert judge_removal(build_snapshot(ALL_HOSTS), ["k1"]).orphans == ("k2",)
    assert judge_removal(build_snapshot(ALL_HOSTS), ["k1", "k2"]).orphans == ()
    dead = build_snapshot(ALL_HOSTS, unreached_hosts=("k3",))
    assert judge_removal(dead, ["k1"]).orphans == ("k2", "k3"), "a dead one may be in the cluster"
    assert judge_removal(dead, ()).orphans == (), "without --limit it is reported, not refused"


def test_other_distributions_are_reported() -> None:
    removal = judge_removal(build_snapshot({"k3": {"leftovers.kubernetes": "/etc/rancher/k3s\n"}}), ())
    assert removal.distributions == (("k3", "k3s"),)


def test_a_question_without_an_answer_is_something_to_do() -> None:
    late = replace(Answer("owned.firewall", "k3", 124, ""))
    three = judge_removal(build_snapshot(None, late), ()).hosts[2]
    assert three.due
    assert three.unknown == ("firewall: no answer within 5 s",)


def test_packages_go_only_when_asked_for_and_when_nobody_needs_them() -> None:
    snapshot = build_snapshot({"k3": {"owned.packages": PACKAGES}})
    three = judge_removal(snapshot, ["k3"], packages=True).hosts[0]
    assert three.packages == ("containerd.io", "kubelet")
    assert three.holds == ("containerd.io", "kubelet")
    assert three.kept_resources[:2] == ("package curl: git needs it", "package libcurl4: curl needs it")
    host_without = judge_removal(snapshot, ["k3"]).hosts[0]
    assert host_without.packages == ()
    assert "--packages" in host_without.kept_resources[0]


def test_packages_are_known_where_what_the_steps_left_is_not() -> None:
    late = replace(Answer("owned.containerd", "k3", 124, ""))
    three = judge_removal(build_snapshot({"k3": {"owned.packages": PACKAGES}}, late), ["k3"]).hosts[0]
    assert three.unknown == ("containerd: no answer within 5 s",)
    assert "--packages" in three.kept_resources[0]


def test_dead_hosts_are_named() -> None:
    removal = judge_removal(build_snapshot(ALL_HOSTS, unreached_hosts=("k2", "k3")), ())
    assert [host.host for host in removal.hosts] == ["k1"]
    assert removal.unreachable_hosts == ("k2", "k3")


@pytest.mark.parametrize("path", ["/var/lib/containerd", "/var/lib/prometheus", "/opt/local-path-provisioner"])
def test_what_other_programs_store_is_never_agreed_on_without_a_record(path: str) -> None:
    world = {"owned.packages": PACKAGES, "owned.standalone-monitoring": ""}
    three = judge_removal(build_snapshot({"k3": world}), ["k3"], packages=True, foreign=True).hosts[0]
    assert not three.ownership.has_agreed(path)
