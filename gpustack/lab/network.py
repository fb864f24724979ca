"""Bridge, subnet and NAT of a lab. Every iptables rule has the lab's name as a comment, by which it is found again."""

import json
import shlex
from collections.abc import Iterable
from ipaddress import IPv4Network
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.lab import locks
from gpustack.lab.commands import attempt, run
from gpustack.lab.state import Record

BLOCK = IPv4Network("10.77.0.0/16")
PODS = IPv4Network("10.244.0.0/16")
SERVICES = IPv4Network("10.96.0.0/12")
COMMENT = "gpustack-lab:"
NO_PROGRAM = 127
LINKS = Path("/sys/class/net")


def used_networks() -> list[IPv4Network]:
    """Networks that this machine has an address in or a route to (the default route aside)."""
    links = json.loads(run(["ip", "-json", "-4", "address"]))
    routes = json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"]))
    addresses = [f"{at['local']}/{at['prefixlen']}" for link in links for at in link["addr_info"]]
    targets = [route["dst"] for route in routes if route["dst"] != "default"]
    return [IPv4Network(text, strict=False) for text in (*addresses, *targets)]


def free_net(used: Iterable[IPv4Network], taken: Iterable[str]) -> str:
    """First three numbers of the first /24 of 10.77.0.0/16 that overlaps nothing used and is not `taken` by a lab.

    The block lies outside the pod and service networks that a cluster gets by default.
    """
    used, taken = list(used), set(taken)
    for subnet in BLOCK.subnets(new_prefix=24):
        net = str(subnet.network_address).rpartition(".")[0]
        if net not in taken and not any(subnet.overlaps(other) for other in used):
            return net
    why = "Labs, routes and addresses of this machine use all of it."
    raise LabError(
        "lab-no-free-subnet", f"There is no free /24 in {BLOCK}.", why, Command("ip", "route", "show", "table", "all")
    )


def rules(record: Record) -> list[tuple[str, str, str]]:
    """(table, chain, rule) in the order in which they must stand.

    A pod or service address that nothing translated, and an address of another lab or of one that is gone, are rejected
    on their way out: they would leave through NAT, and an outside that answers for any address turns a broken Service
    into a wrong answer. While a lab is up the machine forwards packets for anybody: only the machine itself begins a
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
    """Make the bridge, and the rules anew. Hold the machine's lock."""
    remember_tables()
    if not (LINKS / record.bridge).exists():
        run(["ip", "link", "add", "name", record.bridge, "type", "bridge"])
    run(["ip", "address", "replace", f"{record.gateway}/24", "dev", record.bridge])
    run(["ip", "link", "set", record.bridge, "up"])
    remove_rules(record)
    for table, chain, rule in reversed(rules(record)):
        # What the machine's owner refuses to everybody is refused to lab hosts, too.
        how = "-A" if chain == "INPUT" else "-I"
        run(["iptables", "-w", "-t", table, how, chain, *rule.split(), "-m", "comment", "--comment", comment(record)])


def drop_network(record: Record) -> None:
    remove_rules(record)
    drop_links(f"vb-{record.machines}[0-9][0-9]")
    drop_links(record.bridge)


def drop_links(pattern: str) -> None:
    """Delete the links of such names. That of a killed host stays, on the bridge or off it, until the kernel has taken
    down the host's network, which can last a minute; deleted by name it is gone at once."""
    for link in sorted(LINKS.glob(pattern)):
        delete = ["ip", "link", "delete", link.name]
        if attempt(delete).returncode != 0 and link.exists():  # the kernel may have been quicker
            run(delete)


def remove_rules(record: Record) -> None:
    for table, words in _rules():
        if comment(record) in words:
            run(["iptables", "-w", "-t", table, "-D", *words])


def names() -> set[str]:
    """Names of the labs that have rules on this machine, with a record or without."""
    if attempt(["iptables", "--version"]).returncode == NO_PROGRAM:
        return set()
    return {word.removeprefix(COMMENT) for _, words in _rules() for word in words if word.startswith(COMMENT)}


def _rules() -> list[tuple[str, list[str]]]:
    """Table, and the words of each rule in it."""
    return [
        (table, shlex.split(line)[1:])
        for table in ("nat", "filter")
        for line in run(["iptables", "-w", "-t", table, "-S"]).splitlines()
        if line.startswith("-A ")
    ]


def remember_tables() -> None:
    """Note once which nftables tables the machine had: iptables makes `ip nat` and `ip filter` if they are missing."""
    file = locks.MACHINE / "tables"
    if not file.exists():
        fresh = file.with_suffix(".new")
        fresh.write_text(run(["nft", "list", "tables"]))
        fresh.replace(file)


def forget_tables() -> None:
    """Delete the tables that were not there before the first lab, if nobody put a rule into them since."""
    file = locks.MACHINE / "tables"
    if not file.exists():
        return
    for table in ("nat", "filter"):
        if f"table ip {table}" not in file.read_text().splitlines():
            listing = attempt(["nft", "--json", "list", "table", "ip", table])
            if listing.returncode == 0 and '"rule"' not in listing.stdout:
                run(["nft", "delete", "table", "ip", table])
    file.unlink()


def comment(record: Record) -> str:
    return f"{COMMENT}{record.name}"
