"""Pseudonyms for addresses and names in all that a snapshot holds, the same everywhere in it, also inside texts.

Names are those of the inventory, what hosts and nodes call themselves, and the domains they are in. A name that is also
a word of our questions (a host called `node`) stays: taken out of every answer, nothing could be read any more.
"""

import re
import secrets
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpustack.ask.addresses import Addresses, networks
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot, keyed
from gpustack.config.host import Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec

# Behind a newline or tab that JSON has escaped, too.
BEFORE = r"(?:(?<![A-Za-z0-9])|(?<=\\n)|(?<=\\t))"
V4 = re.compile(r"(?:(?<![A-Za-z0-9.])|(?<=\\n)|(?<=\\t))\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?!\d|\.\d)")
V6 = re.compile(
    r"(?:(?<![0-9A-Za-z:.])|(?<=\\n)|(?<=\\t))[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f]*(?:/\d{1,3})?(?![0-9A-Za-z:.])"
)
MAC = re.compile(rf"{BEFORE}[0-9A-Fa-f]{{2}}(?::[0-9A-Fa-f]{{2}}){{5}}(?![0-9A-Za-z:])")
DOMAIN = re.compile(r"^(?:search|domain)[ \t]+(.+)$", re.MULTILINE)
LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"


@dataclass(frozen=True)
class Pseudonyms:
    """By what they stand for, in small letters. `kept` are names that stay, as they are words of ours."""

    addresses: Addresses
    names: dict[str, str]
    domains: dict[str, str]
    kept: tuple[str, ...]

    def text(self, said: str) -> str:
        said = V4.sub(self.address, MAC.sub(lambda found: self.addresses.mac(found[0]), said))
        said = V6.sub(self.address, said)
        return self.pattern.sub(self.named, said) if self.names or self.domains else said

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Of thousands of names as quick as of three: they share their beginnings."""
        names, domains = trie(self.names), trie(self.domains)
        found = [rf"(?P<under>(?:{LABEL}\.)+)(?P<domain>{domains})", rf"(?P<alone>{domains})"] if domains else []
        found += [rf"(?P<name>{names})"] if names else []
        return re.compile(rf"{BEFORE}(?:{'|'.join(found)})(?![A-Za-z0-9])", re.IGNORECASE)

    def named(self, found: re.Match[str]) -> str:
        parts = found.groupdict()
        if name := parts.get("name"):
            return self.names[name.lower()]
        if alone := parts.get("alone"):
            return self.domains[alone.lower()]
        labels = parts["under"].rstrip(".").lower()
        known = self.names.get(labels) or f"x{self.addresses.hashed(labels).hex()[:8]}"
        return f"{known}.{self.domains[parts['domain'].lower()]}"

    def address(self, found: re.Match[str]) -> str:
        try:
            return self.addresses.pseudonym(found[0])
        except ValueError:
            return found[0]


def trie(names: Iterable[str]) -> str:
    """A regular expression of any of these, the longest first."""
    below: dict[str, list[str]] = {}
    for name in filter(None, names):
        below.setdefault(name[0], []).append(name[1:])
    branches = []
    for first, rests in below.items():
        after = trie(rests)
        branches.append(re.escape(first) + (f"(?:{after})?" if after and "" in rests else after))
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})" if branches else ""


def pseudonyms(snapshot: Snapshot, words: Collection[str], called: Iterable[str] = ()) -> Pseudonyms:
    """`words` are our own, in small letters; `called` what hosts and nodes are called beside the inventory."""
    inventory = snapshot.inventory
    stay = networks(
        str(network) for network in (inventory.spec.kubernetes.pod_cidr, inventory.spec.kubernetes.service_cidr)
    )
    hosts = dict.fromkeys(name.lower() for name in (*(host.name for host in inventory.hosts), *called))
    suffixes = dict.fromkeys(domains(snapshot, hosts, words))
    short = {name.removesuffix(f".{suffix}") for name in hosts for suffix in suffixes} | set(hosts)
    names = [name for name in sorted(short) if "." not in name and not numeric(name)]
    given = {name: f"host{number:02}" for number, name in enumerate((one for one in names if one not in words), 1)}
    return Pseudonyms(
        Addresses(secrets.token_bytes(32), stay),
        given,
        {domain: f"domain{number}.example" for number, domain in enumerate(suffixes, 1)},
        tuple(name for name in names if name in words),
    )


def numeric(name: str) -> bool:
    return not any(char.isalpha() for char in name)


def domains(snapshot: Snapshot, hosts: Iterable[str], words: Collection[str]) -> Iterator[str]:
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
        if "." in domain and not numeric(domain) and domain not in words and not domain.endswith("cluster.local"):
            yield domain


def disguised(snapshot: Snapshot, given: Pseudonyms) -> Snapshot:
    """The same snapshot under other names and addresses."""
    inventory, said = snapshot.inventory, given.text
    spec = Spec.model_validate(everywhere(inventory.spec.model_dump(mode="json", by_alias=True), said))
    hosts = tuple(host_of(host, said) for host in inventory.hosts)
    source, values = Path("inventory") if inventory.source else None, everywhere(dict(inventory.values), said)
    other = Inventory(source, hosts, spec, values, inventory.file_secrets)
    answers = (
        replace(
            answer,
            where=answer.where if answer.where == CLUSTER else said(answer.where),
            out=said(answer.out),
            err=said(answer.err),
            lost=said(answer.lost),
        )
        for answer in snapshot.answers.values()
    )
    reach = (
        replace(one, host=said(one.host), why=said(one.why), hint=said(one.hint)) for one in snapshot.reach.values()
    )
    return Snapshot(
        snapshot.taken, other, MappingProxyType({one.host: one for one in reach}), keyed(answers), snapshot.took
    )


def host_of(host: Host, said: Any) -> Host:
    spec = HostSpec.model_validate(everywhere(host.spec.model_dump(mode="json", exclude_none=True), said))
    return replace(host, name=said(host.name), address=said(host.address), user=None, spec=spec)


def everywhere(value: Any, said: Any) -> Any:
    if isinstance(value, dict):
        return {key: everywhere(inner, said) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [everywhere(inner, said) for inner in value]
    return said(value) if isinstance(value, str) else value
