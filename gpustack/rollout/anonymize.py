"""A snapshot under pseudonyms for addresses and names, the same everywhere in it, also inside texts; it is judged as
the real one.

Names are those of the inventory, what hosts and nodes call themselves, and the domains they are in. A name that is also
a word of our probes (a host called `node`) stays: taken out of every answer, nothing could be read any more.

What we bring to a cluster carries a digest of what we would bring, and that has addresses in it: where the recorded
digest was the right one, it is so under the new addresses.
"""

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpustack.ask.addresses import Addresses, parse_networks
from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.recording import values_without_secrets
from gpustack.ask.script import command
from gpustack.ask.snapshot import Reach, Snapshot, keyed
from gpustack.command import NO_HINT, Command, Hint
from gpustack.config.host import Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.config.versions import KNOWN_SETS, version_set
from gpustack.probes.host.system import HOSTNAME
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.rollout.overlay import cluster_variables

# Behind a newline or tab that JSON has escaped, too.
BEFORE = r"(?:(?<![A-Za-z0-9])|(?<=\\n)|(?<=\\t))"
V4 = re.compile(r"(?:(?<![A-Za-z0-9.])|(?<=\\n)|(?<=\\t))\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?!\d|\.\d)")
V6 = re.compile(
    r"(?:(?<![0-9A-Za-z:.])|(?<=\\n)|(?<=\\t))[0-9A-Fa-f:]{0,45}:[0-9A-Fa-f:]{0,45}:[0-9A-Fa-f]{0,4}+(?:/\d{1,3})?(?![0-9A-Za-z:.])"
)
MAC = re.compile(rf"{BEFORE}[0-9A-Fa-f]{{2}}(?::[0-9A-Fa-f]{{2}}){{5}}(?![0-9A-Za-z:])")
DOMAIN = re.compile(r"^(?:search|domain)[ \t]+(.+)$", re.MULTILINE)
LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
DIGEST = re.compile(r"[0-9a-f]{12,64}")


@dataclass(frozen=True)
class Pseudonyms:
    """By what they stand for, in small letters. `kept` are names that stay, as they are words of ours."""

    addresses: Addresses
    names: dict[str, str]
    domains: dict[str, str]
    kept: tuple[str, ...]

    def replace_in(self, text: str) -> str:
        text = V4.sub(self.replace_address, MAC.sub(lambda found: self.addresses.anonymize_mac(found[0]), text))
        text = V6.sub(self.replace_address, text)
        return self.pattern.sub(self.replace_name, text) if self.names or self.domains else text

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Of thousands of names as quick as of three: they share their beginnings."""
        names, domains = build_trie(self.names), build_trie(self.domains)
        found = [rf"(?P<under>(?:{LABEL}\.)+)(?P<domain>{domains})", rf"(?P<alone>{domains})"] if domains else []
        found += [rf"(?P<name>{names})"] if names else []
        return re.compile(rf"{BEFORE}(?:{'|'.join(found)})(?![A-Za-z0-9])", re.IGNORECASE)

    def replace_name(self, found: re.Match[str]) -> str:
        parts = found.groupdict()
        if name := parts.get("name"):
            return self.names[name.lower()]
        if alone := parts.get("alone"):
            return self.domains[alone.lower()]
        labels = parts["under"].rstrip(".").lower()
        known = self.names.get(labels) or f"x{self.addresses.digest(labels).hex()[:8]}"
        return f"{known}.{self.domains[parts['domain'].lower()]}"

    def replace_address(self, found: re.Match[str]) -> str:
        try:
            return self.addresses.anonymize(found[0])
        except ValueError:
            return found[0]


def build_trie(names: Iterable[str]) -> str:
    """A regular expression of any of these, the longest first."""
    below: dict[str, list[str]] = {}
    for name in filter(None, names):
        below.setdefault(name[0], []).append(name[1:])
    branches = []
    for first, rests in below.items():
        after = build_trie(rests)
        branches.append(re.escape(first) + (f"(?:{after})?" if after and "" in rests else after))
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})" if branches else ""


def anonymize(snapshot: Snapshot, questions: tuple[Probe[Any], ...]) -> tuple[Snapshot, Pseudonyms]:
    pseudonyms = choose_pseudonyms(snapshot, find_own_words(questions), find_node_names(snapshot))
    return update_digests(snapshot, replace_names(snapshot, pseudonyms)), pseudonyms


def remove_secrets(snapshot: Snapshot) -> Snapshot:
    """From the Helm values; judged as the real one is."""
    values = values_without_secrets(snapshot.inventory)
    if values == snapshot.inventory.values:
        return snapshot
    return update_digests(snapshot, replace(snapshot, inventory=replace(snapshot.inventory, values=values)))


def update_digests(snapshot: Snapshot, other: Snapshot) -> Snapshot:
    """`other` with the digests that follow from its own inventory, where `snapshot` has those of its own."""
    again = dict(pair_digests(cluster_variables(snapshot), cluster_variables(other)))
    if not again:
        return other
    pattern = re.compile("|".join(map(re.escape, again)))
    answers = {
        key: replace(answer, out=pattern.sub(lambda found: again[found[0]], answer.out))
        for key, answer in other.answers.items()
    }
    return Snapshot(other.taken, other.inventory, other.reach, MappingProxyType(answers), other.took)


def find_node_names(snapshot: Snapshot) -> Iterator[str]:
    for host in snapshot.inventory.hosts:
        with suppress(FactUnavailable):
            yield snapshot.fact(HOSTNAME, host.name)
    with suppress(FactUnavailable):
        yield from (node.name for node in snapshot.fact(NODES, ""))


@cache
def find_own_words(questions: tuple[Probe[Any], ...]) -> frozenset[str]:
    """Of what is asked, and of where packages come from, in small letters; names of the internet are whole, too."""
    text = " ".join((*map(command, questions), *(repr(version_set(name)) for name in KNOWN_SETS))).lower()
    found = set(re.findall(r"[a-z0-9][a-z0-9.-]*[a-z0-9]", text))
    return frozenset(found | {part for word in found for part in re.split(r"[.-]", word)} | find_parent_domains(found))


def find_parent_domains(names: set[str]) -> set[str]:
    return {".".join(parts[at:]) for parts in (name.split(".") for name in names) for at in range(1, len(parts) - 1)}


def pair_digests(before: Any, now: Any) -> Iterator[tuple[str, str]]:
    """Pairs of digests at the same place of both."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in before.keys() & now.keys():
            yield from pair_digests(before[key], now[key])
    elif isinstance(before, (list, tuple)) and isinstance(now, (list, tuple)):
        for one, other in zip(before, now, strict=False):
            yield from pair_digests(one, other)
    elif isinstance(before, str) and isinstance(now, str) and before != now and DIGEST.fullmatch(before):
        yield before, now


def choose_pseudonyms(snapshot: Snapshot, words: Collection[str], called: Iterable[str]) -> Pseudonyms:
    """`words` are our own, in small letters; `called` what hosts and nodes are called beside the inventory."""
    inventory = snapshot.inventory
    stay = parse_networks(
        str(network) for network in (inventory.spec.kubernetes.pod_cidr, inventory.spec.kubernetes.service_cidr)
    )
    hosts = dict.fromkeys(name.lower() for name in (*(host.name for host in inventory.hosts), *called))
    suffixes = dict.fromkeys(find_domains(snapshot, hosts, words))
    short = {name.removesuffix(f".{suffix}") for name in hosts for suffix in suffixes} | set(hosts)
    names = [name for name in sorted(short) if "." not in name and not is_numeric(name)]
    numbered = {name: f"host{number:02}" for number, name in enumerate((one for one in names if one not in words), 1)}
    return Pseudonyms(
        Addresses(secrets.token_bytes(32), stay),
        numbered,
        {domain: f"domain{number}.example" for number, domain in enumerate(suffixes, 1)},
        tuple(name for name in names if name in words),
    )


def is_numeric(name: str) -> bool:
    return not any(char.isalpha() for char in name)


def find_domains(snapshot: Snapshot, hosts: Iterable[str], words: Collection[str]) -> Iterator[str]:
    """Behind the first label of a host's name, searched for names, in addresses of the spec."""
    addresses = [host.address.lower() for host in snapshot.inventory.hosts]
    searched = [
        word for answer in snapshot.answers.values() for line in DOMAIN.findall(answer.out) for word in line.split()
    ]
    spoken = re.findall(r"//([^/\s:@]+)", snapshot.inventory.spec.model_dump_json())
    for name in (
        *(one.partition(".")[2] for one in (*hosts, *addresses)),
        *searched,
        *(one.partition(".")[2] for one in spoken),
    ):
        domain = name.lower().strip(".")
        if "." in domain and not is_numeric(domain) and domain not in words and not domain.endswith("cluster.local"):
            yield domain


def explain_reach(reach: Reach) -> Hint:
    """Return a hint without names: the command that explains why the host was not reached."""
    return NO_HINT if reach.reached else Command("gpustack", "explain", reach.reference)


def replace_names(snapshot: Snapshot, pseudonyms: Pseudonyms) -> Snapshot:
    """The same snapshot under other names and addresses."""
    inventory, change = snapshot.inventory, pseudonyms.replace_in
    spec = Spec.model_validate(map_strings(inventory.spec.model_dump(mode="json", by_alias=True), change))
    hosts = tuple(anonymize_host(host, change) for host in inventory.hosts)
    source, values = Path("inventory") if inventory.source else None, map_strings(dict(inventory.values), change)
    other = Inventory(source, hosts, spec, values, inventory.file_secrets)
    answers = (
        replace(
            answer,
            where=answer.where if answer.where == CLUSTER else change(answer.where),
            out=change(answer.out),
            err=change(answer.err),
            lost=change(answer.lost),
        )
        for answer in snapshot.answers.values()
    )
    reach = [
        replace(
            found,
            host=change(found.host),
            why=change(found.why),
            hint=explain_reach(found),
            address=change(found.address),
        )
        for found in snapshot.reach.values()
    ]
    return Snapshot(
        snapshot.taken, other, MappingProxyType({one.host: one for one in reach}), keyed(answers), snapshot.took
    )


def anonymize_host(host: Host, change: Callable[[str], str]) -> Host:
    spec = HostSpec.model_validate(map_strings(host.spec.model_dump(mode="json", exclude_none=True), change))
    return replace(host, name=change(host.name), address=change(host.address), user=None, spec=spec)


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: map_strings(inner, change) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_strings(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value
