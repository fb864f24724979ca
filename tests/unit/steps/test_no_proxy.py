"""A plan warns of nodes whose address is no exception of the proxy."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.egress import list_no_proxy
from gpustack.ask.snapshot import Snapshot
from gpustack.config.inventory import Inventory
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.no_proxy import describe_missing_exceptions, is_exempt
from tests.unit.config.specs import build_inventory
from tests.unit.steps.test_node_address import take


def build_snapshot(address: str = "gpu1.example.com", ssh_address: str = "10.0.0.2", **proxy: Any) -> Snapshot:
    """Build the snapshot of one host, which the inventory has under this address."""
    snapshot = take(ssh_address=ssh_address, address=address)
    spec = build_inventory(proxy={"http": "http://p:3128", **proxy}).spec
    inventory: Inventory = replace(snapshot.inventory, spec=spec)
    return replace(snapshot, inventory=inventory)


def test_a_node_that_the_inventory_has_by_name_is_a_warning() -> None:
    snapshot = build_snapshot()
    sentence = describe_missing_exceptions(snapshot)
    assert sentence.startswith("NO_PROXY lacks 10.0.0.2 of h1: ")
    assert "Set gpustack_node_ip of the host, or name the network in proxy.no_proxy" in sentence
    assert sentence in list_warnings(snapshot)
    assert "10.0.0.2" not in list_no_proxy(snapshot.inventory)


@pytest.mark.parametrize("entries", [["10.0.0.0/24"], ["10.0.0.2"], ["*"], [".example.com", "10.0.0.7/16"]])
def test_what_the_operator_named_is_no_warning(entries: list[str]) -> None:
    assert describe_missing_exceptions(build_snapshot(no_proxy=entries)) == ""


@pytest.mark.parametrize("entries", [["10.0.1.0/24"], [".example.com"]])
def test_what_does_not_hold_the_address_is_one(entries: list[str]) -> None:
    assert describe_missing_exceptions(build_snapshot(no_proxy=entries)) != ""


def test_an_address_of_the_inventory_is_an_exception() -> None:
    assert describe_missing_exceptions(build_snapshot("10.0.0.2")) == ""


def test_an_address_that_is_not_certain_is_judged_elsewhere() -> None:
    """The host reports one that SSH did not reach: what it says is no exception either."""
    assert describe_missing_exceptions(build_snapshot(ssh_address="10.0.0.9")) == ""


def test_without_a_proxy_nothing_is_an_exception() -> None:
    assert describe_missing_exceptions(take()) == ""


def test_a_plain_entry_is_for_its_address_alone() -> None:
    assert is_exempt("10.0.0.2", ["10.0.0.2"])
    assert not is_exempt("10.0.0.20", ["10.0.0.2", "10.0.0", "x/y"])
