"""Rules of gpustack that return after a reboot, read from where each manager keeps them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from gpustack.ask.probe import Answer
from gpustack.probes.firewall import guard as firewall_guard
from gpustack.probes.firewall import iptables
from gpustack.probes.firewall.packet_filter import format_cidr, list_passes
from gpustack.probes.sections import index_sections, split_sections

PLUGIN = "/usr/share/netfilter-persistent/plugins.d/50-gpustack"
NFTABLES = "/usr/local/lib/gpustack/firewall-nftables"
COMMENT = "comment=" + b"gpustack-cluster".hex()
NFT_RULE = re.compile(r"^(?:[io]ifname \"?(?P<lo>lo)\"?|ip [sd]addr (?P<net>\S+)|(?P<all>))"
                      r"(?: ?(?P<proto>tcp|udp) dport (?:\{ )?(?P<ports>\d[-\d, ]*?)(?: \})?)? ?accept$")  # fmt: skip
# The parts of our script for nftables: `into() {` and the like.
NFT_PART = re.compile(r"^(into|through|out)\(\) \{$")


@dataclass(frozen=True)
class StoredRules:
    """Hold passes as in steps/firewall/flows.py, by manager.

    `ufw_all` are the operator's too, as ufw keeps each rule once. `guard`, `node_ports`: the sources that gpustack's
    own tables accept at boot.
    """

    iptables: frozenset[str]
    nftables: frozenset[str]
    firewalld: frozenset[str]
    ufw: frozenset[str]
    ufw_all: frozenset[str]
    guard: frozenset[str]
    node_ports: frozenset[str]

    def select_passes(self, manager: str) -> frozenset[str]:
        passes = {"iptables": self.iptables, "nftables": self.nftables, "firewalld": self.firewalld, "ufw": self.ufw}
        return passes.get(manager, frozenset())


def parse_stored_rules(answer: Answer) -> StoredRules:
    sections = split_sections(answer.stdout)
    by_name = index_sections(sections)
    is_called = any(NFTABLES in line for line in by_name["unit nftables"])
    tuples = by_name.get("ufw", [])
    return StoredRules(
        iptables=parse_plugin(by_name.get(f"file {PLUGIN}", [])),
        nftables=parse_nftables(by_name.get(f"file {NFTABLES}", [])) if is_called else frozenset(),
        firewalld=frozenset(
            pass_rule
            for name, lines in sections
            if name.startswith("xml ")
            for pass_rule in parse_xml("\n".join(lines))
        ),
        ufw=parse_ufw(line for line in tuples if COMMENT in line.split()),
        ufw_all=parse_ufw(tuples),
        guard=firewall_guard.parse_script_passes(select_script(by_name, "guard", firewall_guard.SCRIPT)),
        node_ports=firewall_guard.parse_script_service_passes(
            select_script(by_name, "node-ports", firewall_guard.NODE_PORTS_SCRIPT)
        ),
    )


def select_script(by_name: Mapping[str, list[str]], unit: str, path: str) -> list[str]:
    """Select the lines of a script that its unit runs at boot, and nftables.service whenever it has flushed all; none
    where one of them does not."""
    is_called = any(path in line for line in by_name["unit nftables"])
    return by_name.get(f"file {path}", []) if is_called and by_name.get(f"unit {unit}") == ["enabled"] else []


def parse_plugin(lines: Iterable[str]) -> frozenset[str]:
    _, rules = iptables.parse_chains(line for line in lines if line.startswith("-A GPUSTACK-"))
    input_rules, forward_rules, output_rules = (
        rules.get(f"ip filter GPUSTACK-{end}", ()) for end in ("IN", "FWD", "OUT")
    )
    return (
        list_passes(input_rules, "input") | list_passes(forward_rules, "forward") | list_passes(output_rules, "output")
    )


def parse_nftables(lines: Iterable[str]) -> frozenset[str]:
    passes: set[str] = set()
    part = ""
    for line in lines:
        if part_match := NFT_PART.match(line):
            part = part_match[1]
        if not (rule := NFT_RULE.match(line.strip())):
            continue
        direction, net = "in" if part == "into" else "out", format_cidr(rule["net"] or "0.0.0.0/0")
        if rule["lo"]:
            passes.add(f"{direction} lo")
        elif part == "through":
            passes.add(f"forward {'from' if 'saddr' in line else 'to'} {net}")
        else:
            ports = (rule["ports"] or "all").split(", ")
            passes |= {f"{direction} {rule['proto'] or 'any'} {net} {port}" for port in ports}
    return frozenset(passes)


def parse_xml(text: str) -> set[str]:
    """Parse the rules of a policy of gpustack; of a zone, the networks bound to it, from which it then forwards."""
    try:
        root = ET.fromstring(text)  # noqa: S314 - root's own file of firewalld on the host
    except ET.ParseError as error:
        raise ValueError(f"not XML: {error}") from error
    if root.tag == "zone":
        is_accepting = root.get("target") == "ACCEPT"
        return {f"forward from {source.get('address')}" for source in root.findall("source") if is_accepting}
    is_forwarding = any(zone.get("name") == "ANY" for zone in root.findall("egress-zone"))
    is_outgoing = any(zone.get("name") == "HOST" for zone in root.findall("ingress-zone"))
    passes: set[str] = set()
    for rule in root.findall("rule"):
        source, target, port = rule.find("source"), rule.find("destination"), rule.find("port")
        if rule.find("accept") is None:
            continue
        if is_outgoing and target is not None:
            template = f"{port.get('protocol')} {{}} {port.get('port')}" if port is not None else "any {} all"
            passes.add(f"out {template.format(target.get('address'))}")
        elif is_forwarding:
            passes |= {f"forward to {target.get('address')}"} if target is not None else set()
        elif port is not None:
            address = source.get("address") if source is not None else "0.0.0.0/0"
            passes.add(f"in {port.get('protocol')} {address} {port.get('port')}")
    return passes


def parse_ufw(lines: Iterable[str]) -> frozenset[str]:
    """Parse lines `### tuple ### ACTION PROTO DPORT DST SPORT SRC in|out [comment=HEX]` of ufw's user.rules."""
    passes: set[str] = set()
    for line in lines:
        action, proto, ports, target, source_port, source, *rest = line.removeprefix("### tuple ### ").split()
        if source_port != "any" or not rest or rest[0] not in ("in", "out"):
            continue
        if action == "allow":
            net, port_list = (
                format_cidr(source if rest[0] == "in" else target),
                ports.replace("any", "all").replace(":", "-"),
            )
            passes |= {f"{rest[0]} {proto} {net} {port}" for port in port_list.split(",")}
        elif action == "route:allow" and (proto, ports) == ("any", "any"):
            passes.add(f"forward to {target}" if target != "0.0.0.0/0" else f"forward from {source}")
    return frozenset(passes)
