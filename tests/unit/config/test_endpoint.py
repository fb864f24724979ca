"""The endpoint of the API and the addresses of nodes, by the inventory: how we reach a host is not how others do."""

from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.egress import list_no_proxy
from gpustack.config import endpoint as module
from gpustack.config.endpoint import extract_name, resolve_endpoint
from gpustack.config.inventory import Inventory
from tests.unit.config.specs import judge_spec


def build_inventory(spec: Any = None, **h1: Any) -> Inventory:
    hosts, judged_spec, complaints = judge_spec(spec, h1=h1)
    assert complaints == []
    return Inventory(Path("hosts.yml"), hosts, judged_spec)


@pytest.mark.parametrize(
    ("h1", "expected_endpoint"),
    [
        ({"ansible_host": "192.0.2.1"}, "192.0.2.1:6443"),
        ({"ansible_host": "203.0.113.5", "gpustack_node_ip": "10.0.0.5"}, "10.0.0.5:6443"),
        ({"ansible_host": "gpu-box"}, "gpu-box:6443"),
        ({"ansible_host": "2001:db8::10"}, "[2001:db8::10]:6443"),
        ({"ansible_host": "127.0.0.1", "ansible_connection": "local"}, "198.51.100.7:6443"),
        ({"ansible_connection": "local", "gpustack_node_ip": "10.0.0.5"}, "10.0.0.5:6443"),
    ],
    ids=["address", "NAT", "name", "IPv6", "local", "local with an address"],
)
def test_the_endpoint_is_the_address_of_the_node(
    h1: Any, expected_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpustack.config.ansible.connection.detect_address", lambda: "198.51.100.7")
    inventory = build_inventory(**h1)
    assert resolve_endpoint(inventory) == expected_endpoint
    assert extract_name(expected_endpoint) in list_no_proxy(inventory)


def test_a_stated_endpoint_may_be_an_address_of_ipv6() -> None:
    assert extract_name(resolve_endpoint(build_inventory({"kubernetes": {"endpoint": "[2001:db8::5]:6443"}}))) == (
        "2001:db8::5"
    )


def test_no_proxy_has_the_addresses_of_nodes_and_not_how_they_are_reached() -> None:
    entries = list_no_proxy(build_inventory(ansible_host="203.0.113.5", gpustack_node_ip="10.0.0.5"))
    assert entries[:4] == ["localhost", "127.0.0.1", "10.0.0.5", "192.0.2.2"]
    assert "203.0.113.5" not in entries


def test_the_address_of_this_machine_is_that_of_its_default_route() -> None:
    assert module.detect_address().count(".") == 3


def test_a_host_is_meant_by_its_name_and_both_addresses() -> None:
    (host, _) = build_inventory(ansible_host="gpu-box", gpustack_node_ip="10.0.0.5").hosts
    assert host.identifiers == {"h1", "gpu-box", "10.0.0.5"}
    assert host.node_address == "10.0.0.5"
