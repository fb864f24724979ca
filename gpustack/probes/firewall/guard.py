"""The table of our own that keeps strangers from the metrics of the control plane, as it is loaded and as it is stored.

Its chain `input` sends what goes to certain ports to its chain `guard`, which lets in whom it names and drops the rest.
"""

import re
from collections.abc import Iterable

from gpustack.probes.firewall.packet_filter import Filter, whole

GUARD = "inet gpustack_metrics"
SCRIPT = "/usr/local/lib/gpustack/firewall-metrics"
PORTS = re.compile(r"^tcp dport (?:\{ )?(\d[\d, ]*?)(?: \})? jump guard$")
SOURCE = re.compile(r"^ip saddr (\S+) accept$")


def find_loaded(found: Filter) -> frozenset[str]:
    """Whom it lets in, in the form of config/flows.py; nothing if no packet is sent to it."""
    rules = found.chains.get(f"{GUARD} input", ())
    ports = [port for rule in rules if rule.verdict == "jump guard" and rule.judged for port in rule.ports]
    let_in = (rule for rule in found.chains.get(f"{GUARD} guard", ()) if rule.verdict == "accept" and rule.judged)
    return frozenset(f"in tcp {whole(source)} {port}" for rule in let_in for source in rule.sources for port in ports)


def read_script(lines: Iterable[str]) -> frozenset[str]:
    """The same of the script that loads it."""
    ports: list[str] = []
    sources: list[str] = []
    for line in map(str.strip, lines):
        if match := PORTS.match(line):
            ports += match[1].split(", ")
        elif match := SOURCE.match(line):
            sources.append(whole(match[1]))
    return frozenset(f"in tcp {source} {port}" for source in sources for port in ports)
