"""The exceptions of the proxy, compared with the addresses of the nodes.

The files with NO_PROXY are compared by hashes of what the inventory says, before a host answers. So an address that
only a host knows, or only SSH, is none of them.
"""

from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network

from gpustack.ask.egress import list_no_proxy
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.steps.node_address import KEY, find_node_address


def describe_missing_exceptions(snapshot: Snapshot) -> str:
    """Describe the nodes whose address NO_PROXY lacks; empty without a proxy. A node whose address is not known is
    judged elsewhere."""
    inventory = snapshot.inventory
    if inventory.spec.proxy is None:
        return ""
    entries, missing_exceptions = list_no_proxy(inventory), []
    for host in inventory.cluster_hosts:
        with suppress(FactUnavailable):
            address = find_node_address(View(snapshot, host.name))
            if not is_exempt(address, entries):
                missing_exceptions.append(f"{address} of {host.name}")
    if not missing_exceptions:
        return ""
    return (
        f"NO_PROXY lacks {', '.join(missing_exceptions)}: containerd, the kubelet and Alertmanager ask the proxy for "
        f"what is at such an address. Set {KEY} of the host, or name the network in proxy.no_proxy (docs/secrets.md)"
    )


def is_exempt(address: str, entries: list[str]) -> bool:
    """Tell whether an address is one of the entries, or in a network that is one."""
    networks = list_networks(entries)
    return address in entries or "*" in entries or any(IPv4Address(address) in network for network in networks)


def list_networks(entries: list[str]) -> list[IPv4Network]:
    """List the entries that are networks. Others with a slash are none, and exempt nothing."""
    networks = []
    for entry in entries:
        with suppress(ValueError):
            networks += [IPv4Network(entry, strict=False)] if "/" in entry else []
    return networks
