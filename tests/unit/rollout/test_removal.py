"""What a reset would take: whose cluster, which node, what stays, who would be left alone, what is unknown."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import Answer
from gpustack.rollout.removal import removal
from tests.worlds.reset_hosts import PLANE, WORKER, machine, node, nodes, taken

ALL = {"k1": PLANE, "k2": WORKER}
PACKAGES = (
    "== history\ncontainerd.io\ncurl\nkubelet\nlibcurl4\nsocat\n"
    "== states\ncontainerd.io hold installed\ncurl install installed\nkubelet hold installed\n"
    "libcurl4 install installed\nsocat install deinstalled\ncri-tools install installed\n"
    "== needs\ncurl libcurl4\ngit curl\nkubelet curl\n"
)


def test_bare_hosts_have_nothing() -> None:
    found = removal(taken(), ())
    assert (found.due, found.foreign, found.orphans, found.unreached) == ((), (), (), ())


def test_a_whole_cluster_names_its_cluster_and_drains_nobody() -> None:
    one, two, three = removal(taken(ALL, nodes(node("k1"), node("k2"))), ()).hosts
    assert (one.cluster, two.cluster, three.cluster) == (
        "gpustack at https://10.0.0.1:6443",
        "gpustack at https://10.0.0.1:6443",
        "",
    )
    assert (one.node, two.node, two.drain) == ("", "", False)
    assert two.pods == ("default/web", "kube-system/kube-proxy-x")
    assert [step for step, _ in two.traces] == ["flannel", "control-plane"], "the last step first"
    assert not three.due


@pytest.mark.parametrize("ready", [True, False])
def test_a_worker_alone_has_its_node_deleted_and_drained_when_it_is_ready(ready: bool) -> None:
    (two,) = removal(taken(ALL, nodes(node("k1"), node("k2", ready=ready))), ["k2"]).hosts
    assert (two.node, two.drain, two.unknown) == ("k2", ready, ())


@pytest.mark.parametrize(
    ("values", "mine"),
    [
        ({}, node("k9", address="10.0.0.2", id=machine("k2"))),
        ({"system.hostname": "new-name\n"}, node("k2")),
        ({}, node("k2", address="10.9.9.9")),
        ({"system.hostname": "gpu-7.example.com\n"}, node("gpu-7.example.com", address="10.9.9.9", id=machine("k2"))),
    ],
    ids=["node of another name", "host was renamed", "host has another address", "alias in the inventory"],
)
def test_a_node_is_the_host_s_by_its_machine_id_and_its_name_or_address(
    values: dict[str, str], mine: dict[str, Any]
) -> None:
    (two,) = removal(taken({"k1": PLANE, "k2": WORKER | values}, nodes(node("k1"), mine)), ["k2"]).hosts
    assert (two.node, two.unknown) == (mine["metadata"]["name"], ())


CLAIM = {"system.identity": f"{machine('k3')}\n\n"}
ALL_CLAIMS = CLAIM | {
    "system.hostname": "k3\n",
    "network.addresses": "1: lo    inet 127.0.0.1/8 scope host lo\n2: eth0    inet 10.0.0.3/24 brd 10.0.0.255\n",
}


@pytest.mark.parametrize(
    ("values", "victim", "unreached"),
    [
        (CLAIM, node("k3"), ()),
        (CLAIM, node("k3"), ("k3",)),
        (ALL_CLAIMS, node("k3"), ()),
        (ALL_CLAIMS, node("k3"), ("k3",)),
        (CLAIM, node("stranger", address="10.0.0.77", id=machine("k3")), ("k3",)),
        (ALL_CLAIMS, node("k3", address="10.0.0.99"), ("k3",)),
    ],
    ids=["its id", "of a dead host", "all of it", "all of a dead host's", "of a host outside", "its name"],
)
def test_a_host_that_tells_another_s_machine_id_does_not_get_that_node_drained(
    values: dict[str, str], victim: dict[str, Any], unreached: tuple[str, ...]
) -> None:
    hosts = {"k1": PLANE, "k2": WORKER | values, "k3": WORKER}
    (two,) = removal(taken(hosts, nodes(node("k1"), victim), unreached=unreached), ["k2"]).hosts
    assert (two.node, two.drain) == ("", False)
    assert "machine-id" in two.unknown[0]


def test_a_worker_whose_api_does_not_answer_is_reset_and_its_node_is_unknown() -> None:
    (two,) = removal(taken(ALL), ["k2"]).hosts
    assert two.due
    assert two.node == ""
    assert [text.partition(":")[0] for text in two.unknown] == ["node of this host in the cluster"]


def test_a_worker_without_any_cluster_is_not_asked_for_a_node() -> None:
    (two,) = removal(taken(), ["k2"]).hosts
    assert not two.due


def test_a_host_of_another_cluster_is_named() -> None:
    other = WORKER | {"leftovers.kubernetes": "https://old.example:6443\n"}
    (two,) = removal(taken({"k1": PLANE, "k2": other}, nodes()), ["k2"]).hosts
    assert two.foreign == "it is a node (k2) of another cluster, at old.example:6443"
    assert "gpustack" not in two.cluster


def test_a_control_plane_that_gpustack_did_not_make_is_foreign() -> None:
    plane = PLANE | {"owned.membership": PLANE["owned.membership"].replace("yes\n== etcd", "no\n== etcd")}
    assert [one.host for one in removal(taken({"k1": plane}), ()).foreign] == ["k1"]


def test_a_host_of_which_the_cluster_cannot_be_told_counts_as_foreign() -> None:
    late = Answer("leftovers.kubernetes", "k2", 124, "")
    (two,) = removal(taken(ALL, nodes(), late), ["k2"]).foreign
    assert "is unknown" in two.foreign


def test_workers_outside_would_be_left_alone() -> None:
    assert removal(taken(ALL), ["k1"]).orphans == ("k2",)
    assert removal(taken(ALL), ["k1", "k2"]).orphans == ()
    assert removal(taken(ALL, unreached=("k3",)), ["k1"]).orphans == ("k2", "k3"), "a dead one may be in the cluster"
    assert removal(taken(ALL, unreached=("k3",)), ()).orphans == (), "without --limit it is reported, not refused"


def test_other_distributions_are_told() -> None:
    found = removal(taken({"k3": {"leftovers.kubernetes": "/etc/rancher/k3s\n"}}), ())
    assert found.distributions == (("k3", "k3s"),)


def test_a_question_without_an_answer_is_something_to_do() -> None:
    late = replace(Answer("owned.firewall", "k3", 124, ""))
    three = removal(taken(None, late), ()).hosts[2]
    assert three.due
    assert three.unknown == ("firewall: no answer within 5 s",)


def test_packages_go_only_when_asked_for_and_when_nobody_needs_them() -> None:
    snapshot = taken({"k3": {"owned.packages": PACKAGES}})
    three = removal(snapshot, ["k3"], packages=True).hosts[0]
    assert three.packages == ("containerd.io", "kubelet")
    assert three.holds == ("containerd.io", "kubelet")
    assert three.stays[:2] == ("package curl: git needs it", "package libcurl4: curl needs it")
    without = removal(snapshot, ["k3"]).hosts[0]
    assert without.packages == ()
    assert "--packages" in without.stays[0]


def test_packages_can_be_told_where_what_the_steps_left_cannot() -> None:
    late = replace(Answer("owned.containerd", "k3", 124, ""))
    three = removal(taken({"k3": {"owned.packages": PACKAGES}}, late), ["k3"]).hosts[0]
    assert three.unknown == ("containerd: no answer within 5 s",)
    assert "--packages" in three.stays[0]


def test_dead_hosts_are_named() -> None:
    found = removal(taken(ALL, unreached=("k2", "k3")), ())
    assert [one.host for one in found.hosts] == ["k1"]
    assert found.unreached == ("k2", "k3")
