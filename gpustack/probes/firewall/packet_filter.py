"""The verdict of a host's packet filter on a packet that opens a connection: rules as values, and the walk through
them.

The kernel asks every base chain of a hook; a packet passes if all of them accept it (nft(8), "Chains"). A rule with a
match that is not modelled is passed over, as a packet passes over a rule that it does not match.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from ipaddress import ip_address, ip_network
from typing import Literal

Hook = Literal["input", "forward", "output"]
RulePath = tuple[str, tuple["Rule", ...]]


@dataclass(frozen=True)
class Rule:
    """Hold a rule.

    `verdict`: accept, drop (or reject), return, `jump CHAIN`, `goto CHAIN`, or empty for none. Empty tuples match all.
    `local` rules match packets to the host itself only, those of a `version` packets of that version of IP.
    `inverse_fields` are the fields of which a packet must have no value. `judged` is false if no new connection can
    match, or a part of the rule is not modelled.
    """

    verdict: str
    text: str
    protos: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    outs: tuple[str, ...] = ()
    local: bool = False
    version: int = 0
    inverse_fields: frozenset[str] = frozenset()
    judged: bool = True

    @property
    def is_plain(self) -> bool:
        """Tell whether the fields are all that the rule matches."""
        return self.judged and not self.inverse_fields


@dataclass(frozen=True)
class Base:
    """Describe a base chain. `chain` is a key of the filter's chains, `FAMILY TABLE CHAIN`."""

    chain: str
    hook: Hook
    policy: Literal["accept", "drop"]
    iptables: bool = False

    @property
    def version(self) -> int:
        """The version of IP, or 0 for both."""
        return {"ip": 4, "ip6": 6}.get(self.chain.split(" ")[0], 0)


@dataclass(frozen=True)
class Filter:
    bases: tuple[Base, ...]
    chains: Mapping[str, tuple[Rule, ...]]

    @cached_property
    def can_stop(self) -> bool:
        """The filter can stop some packet. Most hosts have one that cannot, and then no packet has to be followed."""
        rules = (rule for rules in self.chains.values() for rule in rules)
        return any(base.policy == "drop" for base in self.bases) or any(rule.verdict == "drop" for rule in rules)


@dataclass(frozen=True)
class Packet:
    """Describe a packet that stands for `times` packets which no rule tells apart."""

    source: str
    proto: str
    port: int
    interface: str
    target: str
    out_interface: str = ""
    hook: Hook = "input"
    times: int = 1

    @property
    def version(self) -> int:
        return 6 if ":" in self.source else 4

    def __str__(self) -> str:
        if self.hook == "forward":
            return f"{self.proto} {self.port} from {self.source} to {self.target} (forwarded)"
        return f"{self.proto} {self.port} " + (f"from {self.source}" if self.hook == "input" else f"to {self.target}")


@dataclass(frozen=True)
class Stop:
    """Hold the base chain that stops a packet, and the path of rules (none: the policy of the base chain)."""

    base: Base
    path: tuple[Rule, ...]

    @property
    def general(self) -> bool:
        """Any other packet would have been stopped as well."""
        return not any(rule.sources or rule.targets or rule.ports or rule.interfaces or rule.outs for rule in self.path)

    def __str__(self) -> str:
        if not self.path:
            # As iptables writes it where the chain is of iptables, so that the line can be found.
            drop = "DROP" if self.base.chain.rsplit(" ", 1)[-1].isupper() else "drop"
            return f"the policy {drop} of chain {self.base.chain}"
        return f"chain {self.base.chain}: {' > '.join(rule.text for rule in self.path)}"


def build_filter(bases: Sequence[Base], chains: Mapping[str, Sequence[Rule]]) -> Filter:
    """Build the filter of the base chains and the chains they lead to."""
    pending_chains, reachable_chains = [base.chain for base in bases], dict[str, tuple[Rule, ...]]()
    while pending_chains:
        chain = pending_chains.pop()
        if chain in reachable_chains:
            continue
        reachable_chains[chain] = tuple(chains.get(chain, ()))
        table = chain.rsplit(" ", 1)[0]
        pending_chains += [
            f"{table} {rule.verdict.split(' ')[1]}" for rule in reachable_chains[chain] if " " in rule.verdict
        ]
    return Filter(tuple(bases), {chain: rules for chain, rules in reachable_chains.items() if rules})


def find_stop(packet_filter: Filter, packet: Packet) -> Stop | None:
    """Find the first base chain that does not accept the packet."""
    for base in packet_filter.bases if packet_filter.can_stop else ():
        is_applicable = base.hook == packet.hook and base.version in (0, packet.version)
        if is_applicable and (stop := find_base_stop(packet_filter, base, packet)):
            return stop
    return None


def find_base_stop(packet_filter: Filter, base: Base, packet: Packet) -> Stop | None:
    verdict, path = walk_chain(packet_filter.chains, base.chain, packet, {})
    if verdict == "accept":
        return None
    if verdict == "drop":
        return Stop(base, path)
    # Flannel accepts what it forwards at the end of iptables' FORWARD: before its policy, after all rules.
    by_policy = base.policy == "drop" and not (base.iptables and base.hook == "forward")
    return Stop(base, ()) if by_policy else None


def walk_chain(chains: Mapping[str, Sequence[Rule]], chain: str, packet: Packet, memo: dict[str, RulePath]) -> RulePath:
    """Return the verdict and the rules that led to it; an empty verdict at the end of the chain.

    Each chain is walked once, however many rules lead to it. The kernel accepts no loops; in the walk a loop ends at
    its beginning.
    """
    if chain not in memo:
        memo[chain] = "", ()
        memo[chain] = walk_rules(chains, chain, packet, memo)
    return memo[chain]


def walk_rules(chains: Mapping[str, Sequence[Rule]], chain: str, packet: Packet, memo: dict[str, RulePath]) -> RulePath:
    table = chain.rsplit(" ", 1)[0]
    for rule in chains.get(chain, ()):
        if not matches(rule, packet):
            continue
        kind, _, name = rule.verdict.partition(" ")
        if kind in ("accept", "drop"):
            return kind, (rule,)
        if kind == "return":
            return "", ()
        if kind in ("jump", "goto"):
            verdict, path = walk_chain(chains, f"{table} {name}", packet, memo)
            if verdict or kind == "goto":
                return verdict, (rule, *path)
    return "", ()


def matches(rule: Rule, packet: Packet) -> bool:
    return (
        rule.judged
        and (not rule.version or packet.version == rule.version)
        and (not rule.local or packet.hook == "input")
        and all(
            not getattr(rule, name) or has_value(rule, packet) != (name in rule.inverse_fields)
            for name, has_value in MATCHERS.items()
        )
    )


@cache
def contains_address(address: str, net: str) -> bool:
    first, dash, last = net.partition("-")
    ip = ip_address(address)
    if dash:
        ends = ip_address(first), ip_address(last)
        return ends[0].version == ip.version and int(ends[0]) <= int(ip) <= int(ends[1])
    return ip in ip_network(net, strict=False)


def list_networks(packet_filter: Filter) -> frozenset[str]:
    """List all networks that the rules name."""
    return frozenset(
        net for rules in packet_filter.chains.values() for rule in rules for net in (*rule.sources, *rule.targets)
    )


def covers(ports: str, port: int) -> bool:
    first, _, last = ports.partition("-")
    return int(first) <= port <= int(last or first)


MATCHERS: Mapping[str, Callable[[Rule, Packet], bool]] = {
    "protos": lambda rule, packet: packet.proto in rule.protos,
    "sources": lambda rule, packet: any(contains_address(packet.source, net) for net in rule.sources),
    "targets": lambda rule, packet: any(contains_address(packet.target, net) for net in rule.targets),
    "ports": lambda rule, packet: any(covers(ports, packet.port) for ports in rule.ports),
    "interfaces": lambda rule, packet: any(fnmatchcase(packet.interface, name) for name in rule.interfaces),
    "outs": lambda rule, packet: any(fnmatchcase(packet.out_interface, name) for name in rule.outs),
}
"""The functions that tell whether a packet has one of the values of a field, by the name of the field."""


def check_readable(rule: Rule) -> Rule:
    """Return the rule, not judged if its networks or ports are in an unknown form."""
    try:
        for net in (*rule.sources, *rule.targets):
            contains_address("0.0.0.0", net)  # noqa: S104 - any address will do
        for ports in rule.ports:
            covers(ports, 0)
    except ValueError:
        return replace(rule, sources=(), targets=(), ports=(), judged=False)
    return rule


def format_cidr(net: str) -> str:
    return net if "/" in net else f"{net}/32"


def list_passes(rules: Sequence[Rule], hook: Hook) -> frozenset[str]:
    """List the packets that a chain of gpustack accepts, in the form of steps/firewall/flows.py."""
    passes: set[str] = set()
    for rule in rules:
        if rule.verdict != "accept" or not rule.is_plain:
            continue
        if hook == "forward":
            passes |= {f"forward from {format_cidr(net)}" for net in rule.sources}
            passes |= {f"forward to {format_cidr(net)}" for net in rule.targets}
            continue
        direction, interfaces, nets = "in", rule.interfaces, rule.sources
        if hook == "output":
            direction, interfaces, nets = "out", rule.outs, rule.targets
        if interfaces == ("lo",):
            passes.add(f"{direction} lo")
            continue
        protos, ports = rule.protos or ("any",), rule.ports or ("all",)
        passes |= {
            f"{direction} {proto} {format_cidr(net)} {port}"
            for proto in protos
            for net in nets or ("0.0.0.0/0",)
            for port in ports
        }
    return frozenset(passes)
