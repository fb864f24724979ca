"""Addresses of the host and programs that listen on its ports."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import parse_integer, parse_ipv4

USERS = re.compile(r'\("((?:[^"\\]|\\.)*)",pid=(\d+)')


@dataclass(frozen=True)
class Listener:
    """Describe a listener. `process` is the name of the first process as the kernel keeps it (15 characters), empty for
    the kernel itself."""

    protocol: str
    port: int
    process: str


def is_taken(listeners: tuple[Listener, ...], port: int) -> bool:
    """Tell whether any program listens on a port of TCP."""
    return any((listener.protocol, listener.port) == ("tcp", port) for listener in listeners)


@dataclass(frozen=True)
class Route:
    """Describe a route. `via` is empty for a network that the link itself is in."""

    network: str
    via: str
    link: str


@dataclass(frozen=True)
class Program:
    """Describe a program that listens on a TCP port. `unit` is the last part of its control group, `pod` for a program
    in a pod."""

    port: int
    unit: str


def parse_address(answer: Answer) -> str:
    """Parse the source address of the default route. Without a route the fact is unavailable, with the kernel's
    words."""
    words = answer.stdout.split()
    return parse_ipv4(words[words.index("src") + 1])


def parse_addresses(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """Parse IPv4 addresses by interface, loopback included."""
    addresses: dict[str, tuple[str, ...]] = {}
    for line in answer.stdout.splitlines():
        _, interface, family, cidr = line.split()[:4]
        if family != "inet":
            raise ValueError(line)
        addresses[interface] = (*addresses.get(interface, ()), parse_ipv4(cidr.split("/")[0]))
    return addresses


def parse_bridge(answer: Answer) -> tuple[str, ...]:
    """Parse IPv4 addresses of the bridge of pods, with their prefixes; none where there is no such bridge."""
    return tuple(str(IPv4Interface(line)) for line in answer.stdout.splitlines())


def parse_listeners(answer: Answer) -> tuple[Listener, ...]:
    """Parse the output of `ss -Hltunp`: netid, state, two queues, local, peer, processes."""
    sockets = set()
    for line in answer.stdout.splitlines():
        protocol, _, _, _, local, *rest = line.split()
        port = local.rsplit(":", 1)[1]
        users = USERS.search(" ".join(rest))
        sockets.add((protocol, parse_integer(port), users[1] if users else ""))
    return tuple(Listener(*socket) for socket in sorted(sockets))


def parse_routes(answer: Answer) -> tuple[Route, ...]:
    """Parse lines `NETWORK LINK VIA`, with - for none."""
    words = [line.split(" ") for line in answer.stdout.splitlines()]
    return tuple(
        Route(str(IPv4Network(network)), parse_ipv4(via) if via != "-" else "", link) for network, link, via in words
    )


def parse_port_programs(answer: Answer) -> tuple[Program, ...]:
    """Parse lines `PORT UNIT`. Raise ValueError where a line has another shape."""
    rows = (line.split(" ", 1) for line in answer.stdout.splitlines())
    return tuple(Program(parse_integer(port), unit[:120]) for port, unit in sorted(map(tuple, rows)))


# 192.0.2.1 is TEST-NET-1 (RFC 5737): never local, so the default route is what answers. Nothing is sent.
ADDRESS = Probe("network.address", Lines("ip -4 -o route get 192.0.2.1"), parse_address)
ADDRESSES = Probe("network.addresses", Lines("ip -4 -o addr show"), parse_addresses)
LISTENERS = Probe("network.listeners", Lines("ss -Hltunp"), parse_listeners)
# Routes of the main table within the ranges of pods or services that are not those of the pod network's own links, and
# of those with a next hop the first 50: with host-gw Flannel has one to every node.
ROUTES = Probe(
    "network.routes",
    Lines(r"""ip -4 route show table main | awk -v pods="$POD_CIDR" -v services="$SERVICE_CIDR" '
function number(text, part) {
  split(text, part, ".")
  return ((part[1] * 256 + part[2]) * 256 + part[3]) * 256 + part[4]
}
function within(net, range, a, b) {
  split(net, a, "/"); split(range, b, "/")
  return !(a[2] < b[2]) && int(number(a[1]) / 2 ^ (32 - b[2])) == int(number(b[1]) / 2 ^ (32 - b[2]))
}
$1 !~ /^[0-9.]+(\/[0-9]+)?$/ { next }
{ net = $1; if (net !~ /\//) net = net "/32"; link = via = "-"
  for (i = 2; i < NF; i++) { if ($i == "dev") link = $(i + 1); if ($i == "via") via = $(i + 1) }
  if (link ~ /^(cni|flannel)/ || !(within(net, pods) || within(net, services))) next
  if (via == "-" || hops++ < 50) print net, link, via }'"""),
    parse_routes,
    manual_command="ip -4 route",
)
BRIDGE = Probe(
    "network.bridge",
    Lines("[ ! -e /sys/class/net/cni0 ] || ip -4 -o address show dev cni0 | awk '{print $4}'"),
    parse_bridge,
    manual_command="ip -4 address show dev cni0",
)
PROGRAMS = Probe(
    "network.programs", Lines(read_script(__file__, "programs.sh")), parse_port_programs, manual_command="ss -Hltnp"
)
