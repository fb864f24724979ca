"""Packet filters of a host: the rules that the kernel has, the managers that maintain them, and the rules of gpustack
that are stored."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.firewall import iptables, nftables
from gpustack.probes.firewall.guard import GUARD, NODE_PORTS_GUARD
from gpustack.probes.firewall.packet_filter import Base, Filter, Rule
from gpustack.probes.firewall.stored_rules import StoredRules, parse_stored_rules
from gpustack.probes.parsing import parse_integer, parse_ipv4
from gpustack.probes.sections import index_sections, split_sections

# Kubernetes' own chains only ever narrow to services without endpoints and to marked packets. Flannel's accept what is
# to be forwarded, but at the end of the chain: what stops a packet before them would be hidden. What cannot be asked
# ends the script: rules that are not seen would be taken for none. ip6tables is asked only where it has a table.
LIVE_SCRIPT = Lines(read_script(__file__, "live.sh"))

STORED_SCRIPT = Lines(r"""
echo '== unit nftables'; systemctl show -p ExecStartPost nftables.service
echo '== unit guard'; systemctl is-enabled gpustack-firewall-metrics.service 2>/dev/null
echo '== unit node-ports'; systemctl is-enabled gpustack-firewall-node-ports.service 2>/dev/null
for file in /usr/share/netfilter-persistent/plugins.d/50-gpustack /usr/local/lib/gpustack/firewall-nftables \
  /usr/local/lib/gpustack/firewall-metrics /usr/local/lib/gpustack/firewall-node-ports; do
  [ -x "$file" ] && { echo "== file $file"; cat "$file"; }
done
for file in /etc/firewalld/policies/gpustack-*.xml /etc/firewalld/zones/*.xml; do
  [ -e "$file" ] && { echo "== xml $file"; cat "$file"; echo; }
done
[ -e /etc/ufw/user.rules ] && { echo '== ufw'; grep '^### tuple' /etc/ufw/user.rules; }
:
""")


@dataclass(frozen=True)
class Firewall:
    """Hold the packet filters of a host.

    `firewalld`: it runs; `ufw`: it is on; `nftables`, `netfilter_persistent`: the unit loads its rules at boot.
    `interfaces` are by address. `ssh_ports` are those that sshd listens on or talks over, `ssh_clients` the connected
    clients. `legacy` is a second, older iptables that the kernel asks as well. `ipv6` are the interfaces with such
    addresses.
    """

    firewalld: bool
    ufw: bool
    nftables: bool
    netfilter_persistent: bool
    filter: Filter
    legacy: Filter
    interfaces: Mapping[str, str]
    ssh_ports: tuple[int, ...]
    ssh_clients: tuple[str, ...]
    ipv6: tuple[str, ...]

    def find_owner(self, base: Base) -> str:
        """Find the manager that a base chain belongs to."""
        if base.chain.startswith("inet firewalld "):
            return "firewalld"
        if base.chain.startswith((f"{GUARD} ", f"{NODE_PORTS_GUARD} ")):
            return "gpustack"
        if base.iptables:
            return "firewalld" if self.firewalld else "ufw" if self.ufw else "iptables"
        return "nftables"


def parse_firewall(answer: Answer) -> Firewall:
    sections = split_sections(answer.stdout)
    by_name = index_sections([(name, lines) for name, lines in sections if name != "nft"])
    blocks = "\n".join(by_name["units"]).split("\n\n")
    properties = (dict(line.split("=", 1) for line in block.splitlines()) for block in blocks)
    units = {unit["Id"]: unit for unit in properties}
    rules, rules6 = (
        iptables.parse_filter(by_name.get("iptables", [])),
        iptables.parse_filter(by_name.get("ip6tables", []), "ip6"),
    )
    tables = nftables.parse_filter("\n".join(lines) for name, lines in sections if name == "nft")
    ports, clients = parse_ssh_peers(by_name["ssh"])
    return Firewall(
        firewalld=units["firewalld.service"]["ActiveState"] == "active",
        ufw="yes" in by_name["ufw"] and "-N ufw-user-input" in by_name.get("iptables", []),
        nftables=is_loaded_at_boot(units["nftables.service"]),
        netfilter_persistent=is_loaded_at_boot(units["netfilter-persistent.service"]),
        filter=Filter(rules.bases + rules6.bases + tables.bases, {**rules.chains, **rules6.chains, **tables.chains}),
        legacy=iptables.parse_filter(by_name.get("iptables-legacy", [])),
        interfaces=dict(parse_address_line(line) for line in by_name["addresses"]),
        ssh_ports=ports,
        ssh_clients=clients,
        ipv6=tuple(line.strip() for line in by_name.get("ipv6", [])),
    )


def is_loaded_at_boot(unit: Mapping[str, str]) -> bool:
    return unit["ActiveState"] == "active" and unit["UnitFileState"] in ("enabled", "enabled-runtime", "alias")


def parse_address_line(line: str) -> tuple[str, str]:
    """Parse a line `2: eth0 inet 10.0.0.1/24 brd …` of `ip -o addr`."""
    words = line.split()
    return parse_ipv4(words[words.index("inet") + 1].split("/")[0]), words[1].split("@")[0]


def parse_ssh_peers(lines: list[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Parse ports and IPv4 clients from lines `STATE LOCAL PEER`."""
    ports, clients = set(), set()
    for line in lines:
        _, local, peer = line.split()
        ports.add(parse_integer(local.rsplit(":", 1)[1]))
        client = peer.rsplit(":", 1)[0].strip("[]").removeprefix("::ffff:")
        if client.count(".") == 3 and client != "0.0.0.0":  # noqa: S104 - ss's word for nobody
            clients.add(parse_ipv4(client))
    return tuple(sorted(ports)), tuple(sorted(clients))


FIREWALL = Probe("firewall.live", LIVE_SCRIPT, parse_firewall, limit=10, manual_command="iptables -S; nft list ruleset")
STORED_RULES = Probe(
    "firewall.stored", STORED_SCRIPT, parse_stored_rules, manual_command="cat /etc/nftables.conf /etc/iptables/rules.v4"
)

__all__ = ["FIREWALL", "STORED_RULES", "Base", "Firewall", "Rule", "StoredRules"]
