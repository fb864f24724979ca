"""What filters packets on a host: the rules that the kernel has, who looks after them, and what of ours is stored."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.firewall import iptables, nftables
from gpustack.probes.firewall.guard import GUARD
from gpustack.probes.firewall.packet_filter import Base, Filter, Rule
from gpustack.probes.firewall.stored import Stored, read_stored
from gpustack.probes.parsing import ipv4, number
from gpustack.probes.sections import named, sections

# Kubernetes' own chains only ever narrow to services without endpoints and to marked packets. Flannel's accept what is
# to be forwarded, but at the end of the chain: what stops a packet before them would be hidden. What cannot be asked
# ends the script: rules that are not seen would be taken for none. ip6tables is asked only where it has a table.
LIVE = Lines(read_script(__file__, "live.sh"))

STORED = Lines(r"""
echo '== unit nftables'; systemctl show -p ExecStartPost nftables.service
echo '== unit guard'; systemctl is-enabled gpustack-firewall-metrics.service 2>/dev/null
for file in /usr/share/netfilter-persistent/plugins.d/50-gpustack /usr/local/lib/gpustack/firewall-nftables \
  /usr/local/lib/gpustack/firewall-metrics; do
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
    """`firewalld`: it runs; `ufw`: it is on; `nftables`, `netfilter_persistent`: the unit loads its rules at boot.
    `interfaces` by address. `ssh_ports` are those sshd listens on or talks over, `ssh_clients` who is connected.
    `legacy` is a second, older iptables that the kernel asks as well. `ipv6` are the interfaces with such addresses."""

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

    def owner(self, base: Base) -> str:
        """The manager that a base chain belongs to."""
        if base.chain.startswith("inet firewalld "):
            return "firewalld"
        if base.chain.startswith(f"{GUARD} "):
            return "gpustack"
        if base.iptables:
            return "firewalld" if self.firewalld else "ufw" if self.ufw else "iptables"
        return "nftables"


def read_live(answer: Answer) -> Firewall:
    found = sections(answer.out)
    by_name = named([(name, lines) for name, lines in found if name != "nft"])
    blocks = "\n".join(by_name["units"]).split("\n\n")
    properties = (dict(line.split("=", 1) for line in block.splitlines()) for block in blocks)
    units = {unit["Id"]: unit for unit in properties}
    rules, rules6 = iptables.parse(by_name.get("iptables", [])), iptables.parse(by_name.get("ip6tables", []), "ip6")
    tables = nftables.parse("\n".join(lines) for name, lines in found if name == "nft")
    ports, clients = ssh(by_name["ssh"])
    return Firewall(
        firewalld=units["firewalld.service"]["ActiveState"] == "active",
        ufw="yes" in by_name["ufw"] and "-N ufw-user-input" in by_name.get("iptables", []),
        nftables=loads(units["nftables.service"]),
        netfilter_persistent=loads(units["netfilter-persistent.service"]),
        filter=Filter(rules.bases + rules6.bases + tables.bases, {**rules.chains, **rules6.chains, **tables.chains}),
        legacy=iptables.parse(by_name.get("iptables-legacy", [])),
        interfaces=dict(address(line) for line in by_name["addresses"]),
        ssh_ports=ports,
        ssh_clients=clients,
        ipv6=tuple(line.strip() for line in by_name.get("ipv6", [])),
    )


def loads(unit: Mapping[str, str]) -> bool:
    return unit["ActiveState"] == "active" and unit["UnitFileState"] in ("enabled", "enabled-runtime", "alias")


def address(line: str) -> tuple[str, str]:
    """`2: eth0    inet 10.0.0.1/24 brd …` of `ip -o addr`."""
    words = line.split()
    return ipv4(words[words.index("inet") + 1].split("/")[0]), words[1].split("@")[0]


def ssh(lines: list[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Ports and IPv4 clients of `STATE LOCAL PEER` lines."""
    ports, clients = set(), set()
    for line in lines:
        _, local, peer = line.split()
        ports.add(number(local.rsplit(":", 1)[1]))
        client = peer.rsplit(":", 1)[0].strip("[]").removeprefix("::ffff:")
        if client.count(".") == 3 and client != "0.0.0.0":  # noqa: S104 - ss's word for nobody
            clients.add(ipv4(client))
    return tuple(sorted(ports)), tuple(sorted(clients))


FIREWALL = Probe("firewall.live", LIVE, read_live, limit=10, like="iptables -S; nft list ruleset")
STORED_RULES = Probe("firewall.stored", STORED, read_stored, like="cat /etc/nftables.conf /etc/iptables/rules.v4")

__all__ = ["FIREWALL", "STORED_RULES", "Base", "Firewall", "Rule", "Stored"]
