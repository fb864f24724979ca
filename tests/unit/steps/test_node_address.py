"""Addresses of nodes: of the inventory, of the SSH connection, of this machine, and never of a host alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from gpustack.ask.probe import Answer, FactUnavailable
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.config.host import CONTROL_PLANE, NODE, STANDALONE, Host, HostSpec
from gpustack.steps.node_address import find_node_address, find_trusted_address, find_unconfirmed_hosts
from tests.worlds.snapshots.build import build

ADDRESSES = (
    "1: lo    inet 127.0.0.1/8 scope host lo\n2: eth0    inet 10.0.0.2/24 brd 10.0.0.255\n"
    "3: eth1    inet 172.16.0.2/24 brd 172.16.0.255\n"
)


def take(host_address: str = "10.0.0.2", ssh_address: str = "10.0.0.2", **fields: Any) -> Snapshot:
    """Take a snapshot of a host that reports an address, with the address at which SSH reached it."""
    host_fields: Mapping[str, Any] = {
        "address": "gpu1.example.com",
        "groups": frozenset({CONTROL_PLANE, NODE}),
        **fields,
    }
    answers = {
        ("network.address", "h1"): Answer("network.address", "h1", 0, f"192.0.2.1 dev eth0 src {host_address} uid 0\n"),
        ("network.addresses", "h1"): Answer("network.addresses", "h1", 0, ADDRESSES),
    }
    return build([Host("h1", **host_fields)], answers, reach=[Reach("h1", address=ssh_address)])


def build_view(base: Snapshot) -> View:
    return View(base, "h1")


@pytest.mark.parametrize("fields", [{}, {"address": "10.0.0.2"}], ids=["name", "address"])
def test_an_address_that_ssh_reached_is_the_node_s(fields: dict[str, Any]) -> None:
    assert find_node_address(build_view(take(**fields))) == "10.0.0.2"
    assert find_unconfirmed_hosts(take(**fields)) == []


def test_a_recording_without_the_connection_has_the_address_of_the_inventory() -> None:
    assert find_node_address(build_view(take(ssh_address="", address="10.0.0.2"))) == "10.0.0.2"
    with pytest.raises(FactUnavailable, match=r"SSH reached gpu1\.example\.com, and the host reports 10\.0\.0\.2"):
        find_node_address(build_view(take(ssh_address="")))
    with pytest.raises(FactUnavailable, match="is not known; gpustack_node_ip is not set"):
        find_trusted_address(build_view(take(ssh_address="")))


@pytest.mark.parametrize(
    ("host_address", "ssh_address"),
    [
        ("172.16.0.2", "10.0.0.2"),
        ("10.0.0.2", "198.51.100.7"),
        ("10.0.0.2", "127.0.0.1"),
        ("10.0.0.2", "2001:db8::2"),
        ("203.0.113.66", "10.0.0.2"),
    ],
    ids=["a network of its own", "behind NAT", "a forwarded port", "IPv6", "a lie"],
)
def test_any_other_address_is_for_the_operator_to_say(host_address: str, ssh_address: str) -> None:
    snapshot = take(host_address, ssh_address)
    with pytest.raises(FactUnavailable, match="gpustack_node_ip is not set"):
        find_node_address(build_view(snapshot))
    ((host, reason),) = find_unconfirmed_hosts(snapshot)
    assert host == "h1"
    assert reason.endswith(f"and the host reports {host_address}; its addresses: 10.0.0.2, 172.16.0.2")
    configured_snapshot = take(
        host_address, ssh_address, spec=HostSpec.model_validate({"gpustack_node_ip": "172.16.0.2"})
    )
    assert (
        find_node_address(build_view(configured_snapshot))
        == find_trusted_address(build_view(configured_snapshot))
        == "172.16.0.2"
    )
    assert find_unconfirmed_hosts(configured_snapshot) == []


def test_the_local_host_is_this_machine() -> None:
    assert find_node_address(build_view(take("172.16.0.2", "", connection="local"))) == "172.16.0.2"
    assert find_trusted_address(build_view(take("172.16.0.2", "", connection="local"))) == "172.16.0.2"


def test_the_trusted_address_is_no_word_of_the_host() -> None:
    assert find_trusted_address(build_view(take("203.0.113.66"))) == "10.0.0.2"


def test_a_host_without_kubernetes_is_no_node() -> None:
    assert find_unconfirmed_hosts(take("172.16.0.2", groups=frozenset({STANDALONE}))) == []


def test_a_host_that_was_not_reached_says_nothing() -> None:
    snapshot = build(
        [Host("h1", "10.0.0.2", groups=frozenset({NODE}))], {}, reach=[Reach("h1", "host-ssh-login", "no")]
    )
    assert find_unconfirmed_hosts(snapshot) == []
