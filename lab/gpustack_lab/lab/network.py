"""Bridge, subnet and NAT of a lab. Every iptables rule has the lab's name as a comment, by which it is found again."""

import json
import shlex
from collections.abc import Iterable
from ipaddress import IPv4Network
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.lab import locks
from gpustack_lab.lab.commands import run, try_run
from gpustack_lab.lab.state import Record

BLOCK = IPv4Network("10.77.0.0/16")
PODS = IPv4Network("10.244.0.0/16")
SERVICES = IPv4Network("10.96.0.0/12")
COMMENT = "gpustack-lab:"
NO_PROGRAM = 127
LINKS = Path("/sys/class/net")


def list_used_networks() -> list[IPv4Network]:
    """List the networks that this machine has an address in or a route to. The default route does not count."""
    links = json.loads(run(["ip", "-json", "-4", "address"]))
    routes = json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"]))
    addresses = [f"{address['local']}/{address['prefixlen']}" for link in links for address in link["addr_info"]]
    targets = [route["dst"] for route in routes if route["dst"] != "default"]
    return [IPv4Network(text, strict=False) for text in (*addresses, *targets)]


def find_free_net(networks: Iterable[IPv4Network], lab_nets: Iterable[str]) -> str:
    """Find the first three numbers of the first /24 of 10.77.0.0/16 that overlaps none of `networks` and is not in
    `lab_nets`. Raise LabError.

    The block lies outside the pod and service networks that a cluster has by default.
    """
    networks, lab_nets = list(networks), set(lab_nets)
    for subnet in BLOCK.subnets(new_prefix=24):
        net = str(subnet.network_address).rpartition(".")[0]
        if net not in lab_nets and not any(subnet.overlaps(used_network) for used_network in networks):
            return net
    reason = "Labs, routes and addresses of this machine use all of it."
    raise LabError(
        "lab-no-free-subnet",
        f"There is no free /24 in {BLOCK}.",
        reason,
        Command("ip", "route", "show", "table", "all"),
    )


def build_rules(record: Record) -> list[tuple[str, str, str]]:
    """Build (table, chain, rule) in the order in which they must stand.

    An untranslated address of a pod or a service, and an address of another lab or of one that is gone, are rejected on
    their way out: they would leave through NAT, and an outside that answers for any address turns a broken Service into
    a wrong answer. While a lab is up the machine forwards packets for anybody: only the machine itself begins a
    conversation with the lab's hosts.
    """
    bridge, subnet = record.bridge, f"{record.net}.0/24"
    return [
        ("nat", "POSTROUTING", f"-s {subnet} ! -d {subnet} -j MASQUERADE"),
        ("filter", "INPUT", f"-i {bridge} -j ACCEPT"),
        ("filter", "FORWARD", f"-i {bridge} ! -o {bridge} -d {PODS} -j REJECT"),
        ("filter", "FORWARD", f"-i {bridge} ! -o {bridge} -d {SERVICES} -j REJECT"),
        ("filter", "FORWARD", f"-i {bridge} ! -o {bridge} -d {BLOCK} -j REJECT"),
        ("filter", "FORWARD", f"-i {bridge} -j ACCEPT"),
        ("filter", "FORWARD", f"-o {bridge} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"),
        ("filter", "FORWARD", f"! -i {bridge} -o {bridge} -j REJECT"),
    ]


def raise_network(record: Record) -> None:
    """Create the bridge, and the rules anew. The caller holds the machine's lock."""
    remember_tables()
    if not (LINKS / record.bridge).exists():
        run(["ip", "link", "add", "name", record.bridge, "type", "bridge"])
    run(["ip", "address", "replace", f"{record.gateway}/24", "dev", record.bridge])
    run(["ip", "link", "set", record.bridge, "up"])
    remove_rules(record)
    for table, chain, rule in reversed(build_rules(record)):
        # What the machine's owner refuses to everybody is refused to lab hosts, too.
        position = "-A" if chain == "INPUT" else "-I"
        run(
            [
                "iptables",
                "-w",
                "-t",
                table,
                position,
                chain,
                *rule.split(),
                "-m",
                "comment",
                "--comment",
                format_comment(record),
            ]
        )


def drop_network(record: Record) -> None:
    remove_rules(record)
    drop_links(f"vb-{record.machines}[0-9][0-9]")
    drop_links(record.bridge)


def drop_links(pattern: str) -> None:
    """Delete the links of such names. The link of a killed host stays, on the bridge or off it, until the kernel has
    taken down the host's network, which can last a minute; deleted by name it is gone at once."""
    for link in sorted(LINKS.glob(pattern)):
        delete = ["ip", "link", "delete", link.name]
        if try_run(delete).returncode != 0 and link.exists():  # the kernel may have been quicker
            run(delete)


def remove_rules(record: Record) -> None:
    for table, words in _list_rules():
        if format_comment(record) in words:
            run(["iptables", "-w", "-t", table, "-D", *words])


def list_lab_names() -> set[str]:
    """List the names of the labs that have rules on this machine, with a record or without."""
    if try_run(["iptables", "--version"]).returncode == NO_PROGRAM:
        return set()
    return {word.removeprefix(COMMENT) for _, words in _list_rules() for word in words if word.startswith(COMMENT)}


def _list_rules() -> list[tuple[str, list[str]]]:
    """List the table and the words of each rule."""
    return [
        (table, shlex.split(line)[1:])
        for table in ("nat", "filter")
        for line in run(["iptables", "-w", "-t", table, "-S"]).splitlines()
        if line.startswith("-A ")
    ]


def remember_tables() -> None:
    """Record once which nftables tables the machine had: iptables creates `ip nat` and `ip filter` if they are
    missing."""
    file = locks.MACHINE / "tables"
    if not file.exists():
        new_file = file.with_suffix(".new")
        new_file.write_text(run(["nft", "list", "tables"]))
        new_file.replace(file)


def forget_tables() -> None:
    """Delete the tables that were missing before the first lab, unless another program put a rule into them."""
    file = locks.MACHINE / "tables"
    if not file.exists():
        return
    for table in ("nat", "filter"):
        if f"table ip {table}" not in file.read_text().splitlines():
            listing = try_run(["nft", "--json", "list", "table", "ip", table])
            if listing.returncode == 0 and '"rule"' not in listing.stdout:
                run(["nft", "delete", "table", "ip", table])
    file.unlink()


def format_comment(record: Record) -> str:
    return f"{COMMENT}{record.name}"
