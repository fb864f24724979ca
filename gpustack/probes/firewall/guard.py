"""The table of gpustack that denies strangers the metrics of the control plane, as it is loaded and as it is stored.

Its chain `input` sends packets to certain ports to its chain `guard`, which accepts named sources and drops the rest.
"""

import re
from collections.abc import Iterable

from gpustack.probes.firewall.packet_filter import Filter, format_cidr

GUARD = "inet gpustack_metrics"
SCRIPT = "/usr/local/lib/gpustack/firewall-metrics"
PORTS = re.compile(r"^tcp dport (?:\{ )?(\d[\d, ]*?)(?: \})? jump guard$")
SOURCE = re.compile(r"^ip saddr (\S+) accept$")


def list_loaded_passes(packet_filter: Filter) -> frozenset[str]:
    """List the sources that the loaded table accepts, in the form of steps/firewall/flows.py; none if no packet is sent
    to its chain."""
    rules = packet_filter.chains.get(f"{GUARD} input", ())
    ports = [port for rule in rules if rule.verdict == "jump guard" and rule.judged for port in rule.ports]
    let_in = (
        rule for rule in packet_filter.chains.get(f"{GUARD} guard", ()) if rule.verdict == "accept" and rule.judged
    )
    return frozenset(
        f"in tcp {format_cidr(source)} {port}" for rule in let_in for source in rule.sources for port in ports
    )


def parse_script_passes(lines: Iterable[str]) -> frozenset[str]:
    """Parse the sources that the script of the table accepts, in the same form."""
    ports: list[str] = []
    sources: list[str] = []
    for line in map(str.strip, lines):
        if match := PORTS.match(line):
            ports += match[1].split(", ")
        elif match := SOURCE.match(line):
            sources.append(format_cidr(match[1]))
    return frozenset(f"in tcp {source} {port}" for source in sources for port in ports)
