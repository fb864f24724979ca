"""Connections of a host and its pods: to the API, the service address of the API, the DNS servers, and pods of other
nodes.

The question is asked from the network namespaces of pods that run on the host, and from the host's own: one connection,
DNS query or echo each, all at once, within two seconds; nothing is made. The host itself knows the targets: the routes
of Flannel name the other nodes, the rules of kube-proxy name their pods and those of CoreDNS. Each host asks the next
nodes in the order of their addresses, so that of thousands every one is asked by a few and none by all.

perl does the asking: perl-base is essential in Debian and Ubuntu, and ping, dig and nc are not. A datagram that must
not be split (IP_MTU_DISCOVER, ip(7)) is as long as the link of the pod allows.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import parse_ipv4
from gpustack.probes.sections import index_sections, split_sections

RESULTS = frozenset({"ok", "refused", "timeout", "unreachable", "too-large", "no-answer"})
SUBNET, MAC = re.compile(r"[0-9.]{7,15}/[0-9]{1,2}"), re.compile(r"-|[0-9a-f]{2}(:[0-9a-f]{2}){5}")
KINDS = frozenset(
    {"api", "service", "dns", "node", "echo", "overlay", "bridge", "bridge-large", "pod", "pod-echo", "pod-large"}
)


@dataclass(frozen=True)
class Peer:
    """Describe another node by its part of the pod network, as this host's kernel knows it. `via` is the next hop,
    `mac` and `node` are those of the overlay, empty where it has none."""

    subnet: str
    via: str
    link: str
    mac: str
    node: str

    def holds(self, target: str) -> bool:
        return is_within(target.partition(":")[0], self.subnet)


@lru_cache(maxsize=10_000)
def is_within(address: str, subnet: str) -> bool:
    return IPv4Address(address) in IPv4Network(subnet)


@dataclass(frozen=True)
class NetworkPath:
    """Describe a target and the result of asking it.

    `kind`: the API by its address, by its service; a DNS server; another node (connection, echo), its end of the
    overlay, its bridge, its pods; `large` is an echo as long as the link allows. `target` is an address, or
    address:port. `no-answer` is a server that said it does not know the name of the API; `too-large` is a packet that
    the host's own link refused.
    """

    kind: str
    target: str
    result: str


@dataclass(frozen=True)
class NetworkPaths:
    """Hold the paths from the host, and from each of its pods by address. `subnet` is the host's part of the pod
    network, empty without one."""

    subnet: str
    peers: tuple[Peer, ...]
    host: tuple[NetworkPath, ...]
    pods: Mapping[str, tuple[NetworkPath, ...]]

    def list_paths(self, *kinds: str) -> Iterator[NetworkPath]:
        """List the paths of all pods, or of the host where there is no pod to ask from."""
        for paths in self.pods.values() or (self.host,):
            yield from (path for path in paths if path.kind in kinds)


def parse_paths(answer: Answer) -> NetworkPaths:
    """Parse the paths. Raise ValueError where a line is none that the script prints."""
    sections = index_sections(split_sections(answer.stdout))
    (word, subnet), *peers = (line.split(" ") for line in sections.pop("known"))
    if word != "own":
        raise ValueError(f"unknown word {word}")
    host = tuple(parse_path(line) for line in sections.pop("host"))
    pods = {
        parse_ipv4(name.removeprefix("pod ")): tuple(parse_path(line) for line in lines)
        for name, lines in sections.items()
    }
    return NetworkPaths("" if subnet == "-" else subnet, tuple(parse_peer(*words) for words in peers), host, pods)


@lru_cache(maxsize=4096)
def parse_peer(word: str, subnet: str, via: str, link: str, mac: str, node: str) -> Peer:
    if word != "peer" or not SUBNET.fullmatch(subnet) or not MAC.fullmatch(mac):
        raise ValueError(f"{word} {subnet} {mac}")
    IPv4Network(subnet)
    return Peer(subnet, parse_ipv4(via), link, mac.removeprefix("-"), parse_ipv4(node) if node != "-" else "")


@lru_cache(maxsize=4096)
def parse_path(line: str) -> NetworkPath:
    """Parse one path. Results are cached, since many pods of many hosts ask the same targets."""
    kind, target, result = line.split(" ")
    if kind not in KINDS or result not in RESULTS:
        raise ValueError(line)
    parse_ipv4(target.partition(":")[0])
    return NetworkPath(kind, target, result)


# `plan` reads what the host knows and prints whom to ask; `ask` asks them. A node that the overlay knows and to which
# no route is left is asked all the same. 10 is IP_MTU_DISCOVER, 2 IP_PMTUDISC_DO.
PROGRAM = read_script(__file__, "pod_paths.pl")
POD_SPACES = read_script(__file__, "pod_spaces.sh")

# In its nftables mode kube-proxy writes the pods of a service into the service's chain, and one chain for each of those
# that a client is to come back to.
ENDPOINTS = r"""
$1 == "chain" { service = ""
  if (sub(/^service-[^-]*-/, "", $2)) service = $2
  else if (sub(/^endpoint-[^-]*-/, "", $2)) {
    split($2, is, "__"); split(is[2], at, "/"); print is[1], at[1] ":" at[2] } }
service != "" && / dnat ip to / { while (match($0, /[0-9.]+ \. [0-9]+/)) {
  to = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH); sub(/ \. /, ":", to); print service, to } }
"""
# Of a host that runs no pod, and of one without Flannel, the host's own part is all there is. A namespace whose link is
# gone (its pod ended) has no address that is up, and is passed over; so is one that goes while it is asked.
SCRIPT = POD_SPACES + read_script(__file__, "pod_paths.sh").replace("PROGRAM", PROGRAM.strip()).replace(
    "ENDPOINTS", ENDPOINTS.strip()
)

POD_PATHS = Probe(
    "pod-network.paths",
    Lines(SCRIPT),
    parse_paths,
    limit=8,
    manual_command="nsenter --net=/run/netns/POD nc -zv ADDRESS PORT; ping -M do -s 1400 PEER",
)
