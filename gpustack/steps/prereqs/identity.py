"""Checks of step prereqs that need a person to fix: the identity of the host is unique among the hosts."""

import re
from collections.abc import Callable
from typing import TypeVar

from gpustack.ask.judge import Result, as_text
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


def node_name(here: View) -> Result | None:
    """The hostname is a valid node name, and no other host has it."""
    name = here[HOSTNAME]
    hint = Command("hostnamectl", "set-hostname", "NAME")
    if not NODE_NAME.fullmatch(name) or name.startswith("localhost"):
        return Result("host name", "letters, digits, '-' and '.', at most 63", name, "operator", hint=hint)
    return unlike_others(here, "host name", HOSTNAME, str, hint)


def machine_id(here: View) -> Result | None:
    """No other host has the same machine-id, as hosts cloned from one disk do."""
    hint = Prose("rm -f /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup; reboot")
    if not here[IDENTITY].machine_id:
        return Result("machine-id", "unique", "none", "operator", hint=hint)
    return unlike_others(here, "machine-id", IDENTITY, own_id, hint)


def own_id(found: Identity) -> str:
    return found.machine_id


def product_uuid(here: View) -> Result | None:
    """No other host has the same product_uuid, if the firmware provides one: it becomes the node's systemUUID. A
    vendor's placeholder does not count: nothing in Kubernetes requires it to be unique."""
    hint = Prose("give the virtual machine a new UUID in its hypervisor")
    return unlike_others(here, "product_uuid", IDENTITY, firmware_uuid, hint)


def firmware_uuid(found: Identity) -> str | None:
    return None if found.product_uuid in PLACEHOLDERS else found.product_uuid


def unlike_others(
    here: View, what: str, probe: Probe[Fact], key: Callable[[Fact], str | None], hint: Hint
) -> Result | None:
    """Compared with the hosts whose identity is known; the others are compared when they answer."""
    mine = key(here[probe])
    # Many may have none: no list of these is gone through for each of them.
    twins = [name for name in here.once(hosts_by, probe, key).get(mine, ()) if name != here.where] if mine else []
    if not twins:
        return None
    return Result(what, "unique", f"{mine}, as on {as_text(twins)}", "operator", hint=hint)


def hosts_by(here: View, probe: Probe[Fact], key: Callable[[Fact], str | None]) -> dict[str | None, list[str]]:
    """Hosts by what `key` makes of their fact, of those whose fact is known."""
    found: dict[str | None, list[str]] = {}
    for view in (View(here.snapshot, host.name) for host in here.hosts):
        if view.reached and view.available(probe):
            found.setdefault(key(view[probe]), []).append(view.where)
    return found


def node_address(here: View) -> Result | None:
    """The address of the node is known from the inventory (gpustack_node_ip) or from the SSH connection, and it is on
    this host."""
    if is_unconfirmed(here):
        hint = Command("gpustack", "explain", "node-address-unconfirmed")
        return Result("node address", f"that of SSH, or {KEY}", describe_choice(here), "operator", hint=hint)
    local = [address for found in here[ADDRESSES].values() for address in found]
    wanted = find_node_address(here)
    if wanted in local:
        return None
    return Result(
        "node address", wanted, as_text(local), "operator", hint=Prose("correct gpustack_node_ip in the inventory")
    )


CHECKS = (node_name, machine_id, product_uuid, node_address)
