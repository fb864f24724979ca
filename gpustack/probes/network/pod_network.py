"""What a host and its pods reach: the API, the service address of the API, the DNS servers, and pods of other nodes.

Asked from the network namespaces of pods that run here, and from the host's own: one connection, DNS question or echo
each, all at once, within two seconds; nothing is made. Whom to ask is known to the host itself: the routes of Flannel
name the other nodes, what kube-proxy wrote names their pods and those of CoreDNS. Each host asks the next nodes in the
order of their addresses, so that with thousands of them every one is asked by a few and nobody by all.

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
from gpustack.probes.parsing import ipv4
from gpustack.probes.sections import named, sections

RESULTS = frozenset({"ok", "refused", "timeout", "unreachable", "too-large", "no-answer"})
SUBNET, MAC = re.compile(r"[0-9.]{7,15}/[0-9]{1,2}"), re.compile(r"-|[0-9a-f]{2}(:[0-9a-f]{2}){5}")
KINDS = frozenset(
    {"api", "service", "dns", "node", "echo", "overlay", "bridge", "bridge-large", "pod", "pod-echo", "pod-large"}
)


@dataclass(frozen=True)
class Peer:
    """Another node by its part of the pod network, as this host's kernel knows it. `via` is the next hop, `mac` and
    `node` what the overlay has for it; empty where it has nothing."""

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
class Way:
    """`kind`: the API by its address, by its service; a DNS server; another node (connection, echo), its end of the
    overlay, its bridge, its pods; `large` is an echo as long as the link allows. `target` is an address, or
    address:port. `no-answer` is a server that said it does not know the name of the API; `too-large` is what the own
    link did not take."""

    kind: str
    target: str
    result: str


@dataclass(frozen=True)
class Ways:
    """From the host, and from each of its pods by address. `own` is the host's part of the pod network, empty without
    one."""

    own: str
    peers: tuple[Peer, ...]
    host: tuple[Way, ...]
    pods: Mapping[str, tuple[Way, ...]]

    def of(self, *kinds: str) -> Iterator[Way]:
        """Of all pods, or of the host where there is no pod to ask from."""
        for found in self.pods.values() or (self.host,):
            yield from (way for way in found if way.kind in kinds)


def ways(answer: Answer) -> Ways:
    """Raises ValueError for a line that is not as ours are."""
    found = named(sections(answer.out))
    (word, own), *peers = (line.split(" ") for line in found.pop("known"))
    if word != "own":
        raise ValueError(f"found {word}")
    host = tuple(way(line) for line in found.pop("host"))
    pods = {ipv4(name.removeprefix("pod ")): tuple(way(line) for line in lines) for name, lines in found.items()}
    return Ways("" if own == "-" else own, tuple(peer(*words) for words in peers), host, pods)


@lru_cache(maxsize=4096)
def peer(word: str, subnet: str, via: str, link: str, mac: str, node: str) -> Peer:
    if word != "peer" or not SUBNET.fullmatch(subnet) or not MAC.fullmatch(mac):
        raise ValueError(f"{word} {subnet} {mac}")
    IPv4Network(subnet)
    return Peer(subnet, ipv4(via), link, mac.removeprefix("-"), ipv4(node) if node != "-" else "")


@lru_cache(maxsize=4096)
def way(line: str) -> Way:
    """Many pods of many hosts are asked the same."""
    kind, target, result = line.split(" ")
    if kind not in KINDS or result not in RESULTS:
        raise ValueError(line)
    ipv4(target.partition(":")[0])
    return Way(kind, target, result)


# `plan` reads what the host knows and prints whom to ask; `ask` asks them. A node that the overlay knows and to which
# no route is left is asked all the same. 10 is IP_MTU_DISCOVER, 2 IP_PMTUDISC_DO.
PROGRAM = read_script(__file__, "pod_paths.pl")

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
SCRIPT = (
    read_script(__file__, "pod_paths.sh").replace("PROGRAM", PROGRAM.strip()).replace("ENDPOINTS", ENDPOINTS.strip())
)

POD_PATHS = Probe(
    "pod-network.paths",
    Lines(SCRIPT),
    ways,
    limit=8,
    like="nsenter --net=/run/netns/POD nc -zv ADDRESS PORT; ping -M do -s 1400 PEER",
)
