"""Addresses of the host and who listens on its ports."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.read import ipv4, number

USERS = re.compile(r'\("((?:[^"\\]|\\.)*)",pid=(\d+)')


@dataclass(frozen=True)
class Listener:
    """`process` is the first one's name as the kernel keeps it (15 characters), empty for the kernel itself."""

    protocol: str
    port: int
    process: str


@dataclass(frozen=True)
class Program:
    """Who has a TCP port open: `unit` is the last part of its control group, `pod` for what runs in one."""

    port: int
    unit: str


def address(answer: Answer) -> str:
    """The source address of the default route. Without a route the fact is unavailable, with the kernel's words."""
    words = answer.out.split()
    return ipv4(words[words.index("src") + 1])


def addresses(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """IPv4 addresses by interface, loopback included."""
    found: dict[str, tuple[str, ...]] = {}
    for line in answer.out.splitlines():
        _, interface, family, cidr = line.split()[:4]
        if family != "inet":
            raise ValueError(line)
        found[interface] = (*found.get(interface, ()), ipv4(cidr.split("/")[0]))
    return found


def listeners(answer: Answer) -> tuple[Listener, ...]:
    """Of `ss -Hltunp`: netid, state, two queues, local, peer, processes."""
    found = set()
    for line in answer.out.splitlines():
        protocol, _, _, _, local, *rest = line.split()
        port = local.rsplit(":", 1)[1]
        users = USERS.search(" ".join(rest))
        found.add((protocol, number(port), users[1] if users else ""))
    return tuple(Listener(*one) for one in sorted(found))


def programs(answer: Answer) -> tuple[Program, ...]:
    """Lines `PORT UNIT`. Raises ValueError for another."""
    found = (line.split(" ", 1) for line in answer.out.splitlines())
    return tuple(Program(number(port), unit[:120]) for port, unit in sorted(map(tuple, found)))


# 192.0.2.1 is TEST-NET-1 (RFC 5737): never local, so the default route is what answers. Nothing is sent.
ADDRESS = Probe("network.address", Lines("ip -4 -o route get 192.0.2.1"), address)
ADDRESSES = Probe("network.addresses", Lines("ip -4 -o addr show"), addresses)
LISTENERS = Probe("network.listeners", Lines("ss -Hltunp"), listeners)
PROGRAMS = Probe(
    "network.programs",
    Lines(r"""found=$(ss -Hltnp) || exit
printf '%s\n' "$found" | sed -n 's/^[^ ]* *[0-9]* *[0-9]* *[^ ]*:\([0-9]*\) .*pid=\([0-9]*\),.*/\1 \2/p' | sort -u |
  while read -r port pid; do
    groups=$(cat "/proc/$pid/cgroup" 2>/dev/null) || continue
    case $groups in
      *kubepods*) unit=pod ;;
      *) unit=$(printf '%s\n' "$groups" | sed -n 's/^[0-9]*:\(name=systemd\)\{0,1\}:\//\//p' | head -n 1) ;;
    esac
    unit=${unit##*/}
    echo "$port ${unit:--}"
  done | sort -u
exit 0"""),
    programs,
)
