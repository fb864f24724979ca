"""Checks of step prereqs that need a person to fix: the identity of the host is unique among the hosts."""

import re
from collections.abc import Callable
from typing import TypeVar

from gpustack.ask.judge import Result, format_value
from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.command import Command, Hint, Prose
from gpustack.probes.host.system import HOSTNAME, IDENTITY, Identity
from gpustack.probes.network.addresses import ADDRESSES
from gpustack.steps.node_address import KEY, describe_choice, find_node_address, is_unconfirmed

Fact = TypeVar("Fact")
# A DNS subdomain (RFC 1123) that also fits in the label kubernetes.io/hostname.
NODE_NAME = re.compile(r"(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")

# What vendors write into every board: GLPI src/Blacklist.php getDefaults; all zeros and all ones mean "not set" in the
# SMBIOS specification (DSP0134, System - UUID). The third of these is the fourth where the first three fields are taken
# for little-endian, as that specification has them since 2.6.
PLACEHOLDERS = (
    "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "03000200-0400-0500-0006-000700080009", "00020003-0004-0005-0006-000700080009",
    "12345678-1234-5678-90ab-cddeefaabbcc", "6ab5b300-538d-1014-9fb5-b0684d007b53",
    "01010101-0101-0101-0101-010101010101",
)  # fmt: skip


def node_name(view: View) -> Result | None:
    """The hostname is a valid node name, and no other host has it."""
    name = view[HOSTNAME]
    hint = Command("hostnamectl", "set-hostname", "NAME")
    if not NODE_NAME.fullmatch(name) or name.startswith("localhost"):
        return Result("host name", "letters, digits, '-' and '.', at most 63", name, "operator", hint=hint)
    return find_duplicate(view, "host name", HOSTNAME, str, hint)


def machine_id(view: View) -> Result | None:
    """The machine-id of the host is unique among the hosts; hosts cloned from one disk share it."""
    hint = Prose("rm -f /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup; reboot")
    if not view[IDENTITY].machine_id:
        return Result("machine-id", "unique", "none", "operator", hint=hint)
    return find_duplicate(view, "machine-id", IDENTITY, select_machine_id, hint)


def select_machine_id(identity: Identity) -> str:
    return identity.machine_id


def product_uuid(view: View) -> Result | None:
    """The product_uuid of the host is unique among the hosts, if the firmware provides one: it becomes the node's
    systemUUID. A vendor's placeholder does not count: nothing in Kubernetes requires it to be unique."""
    hint = Prose("give the virtual machine a new UUID in its hypervisor")
    return find_duplicate(view, "product_uuid", IDENTITY, select_firmware_uuid, hint)


def select_firmware_uuid(identity: Identity) -> str | None:
    return None if identity.product_uuid in PLACEHOLDERS else identity.product_uuid


def find_duplicate(
    view: View, subject: str, probe: Probe[Fact], key: Callable[[Fact], str | None], hint: Hint
) -> Result | None:
    """Compare a host with the hosts whose identity is known; the others are compared when they answer."""
    own_key = key(view[probe])
    # Many may have none: no list of these is gone through for each of them.
    twins = (
        [name for name in view.compute_once(group_hosts, probe, key).get(own_key, ()) if name != view.location]
        if own_key
        else []
    )
    if not twins:
        return None
    return Result(subject, "unique", f"{own_key}, as on {format_value(twins)}", "operator", hint=hint)


def group_hosts(view: View, probe: Probe[Fact], key: Callable[[Fact], str | None]) -> dict[str | None, list[str]]:
    """Group hosts by what `key` makes of their fact, of those whose fact is known."""
    hosts: dict[str | None, list[str]] = {}
    for host_view in (View(view.snapshot, host.name) for host in view.hosts):
        if host_view.reached and host_view.has_fact(probe):
            hosts.setdefault(key(host_view[probe]), []).append(host_view.location)
    return hosts


def node_address(view: View) -> Result | None:
    """The address of the node is known from the inventory (gpustack_node_ip) or from the SSH connection, and it is on
    this host."""
    if is_unconfirmed(view):
        hint = Command("gpustack", "explain", "node-address-unconfirmed")
        return Result("node address", f"that of SSH, or {KEY}", describe_choice(view), "operator", hint=hint)
    host_addresses = [address for addresses in view[ADDRESSES].values() for address in addresses]
    expected_address = find_node_address(view)
    if expected_address in host_addresses:
        return None
    return Result(
        "node address",
        expected_address,
        format_value(host_addresses),
        "operator",
        hint=Prose("correct gpustack_node_ip in the inventory"),
    )


CHECKS = (node_name, machine_id, product_uuid, node_address)
