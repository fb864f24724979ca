"""The tables of gpustack that deny strangers the metrics of the control plane and NodePorts of Services, as they are
loaded and as they are stored.

Their base chains send certain packets to the chain `guard`, which accepts named sources and drops the rest.
"""

import re
from collections.abc import Iterable, Sequence

from gpustack.probes.firewall.packet_filter import Filter, Rule, format_cidr

GUARD, NODE_PORTS_GUARD = "inet gpustack_metrics", "inet gpustack_node_ports"
SCRIPT = "/usr/local/lib/gpustack/firewall-metrics"
NODE_PORTS_SCRIPT = "/usr/local/lib/gpustack/firewall-node-ports"
PORTS = re.compile(r"^tcp dport (?:\{ )?(\d[\d, ]*?)(?: \})? jump guard$")
SOURCE = re.compile(r"^ip saddr (\S+) accept$")
# Of a Service: its address is another one by now, and the kernel remembers the port. As nft and describe_rule() write.
SERVICE_PORTS = re.compile(
    r"^(?:ct )?state new (?:ct )?status dnat (?:meta )?l4proto (\w+) (?:ct original )?proto-dst (\S+) jump guard$"
)


def list_loaded_passes(packet_filter: Filter) -> frozenset[str]:
    """List the sources that the loaded table for the metrics accepts, in the form of steps/firewall/flows.py; none if
    no packet is sent to its chain."""
    rules = packet_filter.chains.get(f"{GUARD} input", ())
    ports = [f"tcp {port}" for rule in rules if rule.verdict == "jump guard" and rule.is_plain for port in rule.ports]
    return combine_passes(list_loaded_sources(packet_filter.chains.get(f"{GUARD} guard", ())), ports)


def list_loaded_service_passes(packet_filter: Filter) -> frozenset[str]:
    """List the sources that the loaded table for NodePorts accepts, in the same form; none if it lets packets pass by
    its chain, or that chain drops nothing."""
    chains = (packet_filter.chains.get(f"{NODE_PORTS_GUARD} {chain}", ()) for chain in ("input", "forward"))
    ports_by_chain = [parse_service_ports(rule.text for rule in rules) for rules in chains]
    guard = packet_filter.chains.get(f"{NODE_PORTS_GUARD} guard", ())
    if not guard or guard[-1].verdict != "drop" or not guard[-1].is_plain:
        return frozenset()
    return combine_passes(list_loaded_sources(guard), frozenset.intersection(*ports_by_chain))


def list_loaded_sources(rules: Sequence[Rule]) -> list[str]:
    return [source for rule in rules if rule.verdict == "accept" and rule.is_plain for source in rule.sources]


def parse_script_passes(lines: Sequence[str]) -> frozenset[str]:
    """Parse the sources that the script of the table for the metrics accepts, in the same form."""
    matches = filter(None, map(PORTS.match, map(str.strip, lines)))
    return combine_passes(parse_sources(lines), [f"tcp {port}" for match in matches for port in match[1].split(", ")])


def parse_script_service_passes(lines: Sequence[str]) -> frozenset[str]:
    """Parse the sources that the script of the table for NodePorts accepts, in the same form."""
    return combine_passes(parse_sources(lines), parse_service_ports(map(str.strip, lines)))


def parse_sources(lines: Iterable[str]) -> list[str]:
    return [match[1] for match in filter(None, map(SOURCE.match, map(str.strip, lines)))]


def parse_service_ports(rules: Iterable[str]) -> frozenset[str]:
    return frozenset(f"{match[1]} {match[2]}" for match in filter(None, map(SERVICE_PORTS.match, rules)))


def combine_passes(sources: Iterable[str], ports: Iterable[str]) -> frozenset[str]:
    """Combine sources with ports such as `tcp 2381`."""
    all_ports = [port.split(" ") for port in ports]
    return frozenset(f"in {proto} {format_cidr(source)} {port}" for source in sources for proto, port in all_ports)
