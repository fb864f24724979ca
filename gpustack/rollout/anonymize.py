"""A snapshot under pseudonyms for addresses and names, which is judged as the real one.

Pseudonyms are the same everywhere in the snapshot, also inside texts. Names are those of the inventory, what hosts and
nodes call themselves, and the domains they are in. A name that is also a word of a probe (a host called `node`) stays:
without the word in the answers, no parser could read them.

Objects of gpustack in a cluster have a digest of their content, which includes addresses. Where the recorded digest is
the right one, it is replaced by the right one under the new addresses.
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
from gpustack.ask.recording import map_texts, redact_values
from gpustack.ask.script import format_command
from gpustack.ask.snapshot import Reach, Snapshot, index_answers
from gpustack.command import NO_HINT, Command, Hint
from gpustack.config.host import Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.config.versions import KNOWN_SETS, read_version_set
from gpustack.probes.host.system import HOSTNAME
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.rollout.overlay import build_cluster_variables

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
    """Map names and domains, in lower case, to their pseudonyms. `unchanged_names` are names that stay, as they are
    words of probes."""

    addresses: Addresses
    names: dict[str, str]
    domains: dict[str, str]
    unchanged_names: tuple[str, ...]

    def replace_in(self, text: str) -> str:
        text = V4.sub(self.replace_address, MAC.sub(lambda match: self.addresses.anonymize_mac(match[0]), text))
        text = V6.sub(self.replace_address, text)
        return self.pattern.sub(self.replace_name, text) if self.names or self.domains else text

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the pattern of all names and domains. It is a trie: with thousands of names it is as quick as with
        three."""
        names, domains = build_trie(self.names), build_trie(self.domains)
        alternatives = [rf"(?P<under>(?:{LABEL}\.)+)(?P<domain>{domains})", rf"(?P<alone>{domains})"] if domains else []
        alternatives += [rf"(?P<name>{names})"] if names else []
        return re.compile(rf"{BEFORE}(?:{'|'.join(alternatives)})(?![A-Za-z0-9])", re.IGNORECASE)

    def replace_name(self, match: re.Match[str]) -> str:
        parts = match.groupdict()
        if name := parts.get("name"):
            return self.names[name.lower()]
        if alone := parts.get("alone"):
            return self.domains[alone.lower()]
        labels = parts["under"].rstrip(".").lower()
        pseudonym = self.names.get(labels) or f"x{self.addresses.digest(labels).hex()[:8]}"
        return f"{pseudonym}.{self.domains[parts['domain'].lower()]}"

    def replace_address(self, match: re.Match[str]) -> str:
        try:
            return self.addresses.anonymize(match[0])
        except ValueError:
            return match[0]


def build_trie(names: Iterable[str]) -> str:
    """Build a regular expression of any of these names, the longest first."""
    rests_by_letter: dict[str, list[str]] = {}
    for name in filter(None, names):
        rests_by_letter.setdefault(name[0], []).append(name[1:])
    branches = []
    for first, rests in rests_by_letter.items():
        after = build_trie(rests)
        branches.append(re.escape(first) + (f"(?:{after})?" if after and "" in rests else after))
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})" if branches else ""


def anonymize(snapshot: Snapshot, questions: tuple[Probe[Any], ...]) -> tuple[Snapshot, Pseudonyms]:
    pseudonyms = choose_pseudonyms(snapshot, find_own_words(questions), find_node_names(snapshot))
    return update_digests(snapshot, replace_names(snapshot, pseudonyms)), pseudonyms


def remove_secrets(snapshot: Snapshot) -> Snapshot:
    """Remove secrets from the Helm values. The snapshot is judged as the real one is."""
    values = redact_values(snapshot.inventory)
    if values == snapshot.inventory.values:
        return snapshot
    return update_digests(snapshot, replace(snapshot, inventory=replace(snapshot.inventory, values=values)))


def update_digests(snapshot: Snapshot, changed_snapshot: Snapshot) -> Snapshot:
    """Replace digests in `changed_snapshot` that were right in `snapshot` by those that follow from the changed
    inventory."""
    new_digests = dict(pair_digests(build_cluster_variables(snapshot), build_cluster_variables(changed_snapshot)))
    if not new_digests:
        return changed_snapshot
    pattern = re.compile("|".join(map(re.escape, new_digests)))
    answers = {
        key: replace(answer, stdout=pattern.sub(lambda match: new_digests[match[0]], answer.stdout))
        for key, answer in changed_snapshot.answers.items()
    }
    return Snapshot(
        changed_snapshot.started_at,
        changed_snapshot.inventory,
        changed_snapshot.reach,
        MappingProxyType(answers),
        changed_snapshot.seconds,
    )


def find_node_names(snapshot: Snapshot) -> Iterator[str]:
    for host in snapshot.inventory.hosts:
        with suppress(FactUnavailable):
            yield snapshot.require_fact(HOSTNAME, host.name)
    with suppress(FactUnavailable):
        yield from (node.name for node in snapshot.require_fact(NODES, ""))


@cache
def find_own_words(questions: tuple[Probe[Any], ...]) -> frozenset[str]:
    """Find the words of the probes and of the package sources, in lower case, with whole domain names and their
    labels."""
    text = " ".join((*map(format_command, questions), *(repr(read_version_set(name)) for name in KNOWN_SETS))).lower()
    matches = set(re.findall(r"[a-z0-9][a-z0-9.-]*[a-z0-9]", text))
    return frozenset(
        matches | {part for word in matches for part in re.split(r"[.-]", word)} | find_parent_domains(matches)
    )


def find_parent_domains(names: set[str]) -> set[str]:
    return {
        ".".join(parts[start:]) for parts in (name.split(".") for name in names) for start in range(1, len(parts) - 1)
    }


def pair_digests(before: Any, after: Any) -> Iterator[tuple[str, str]]:
    """List pairs of digests at the same place of two values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() & after.keys():
            yield from pair_digests(before[key], after[key])
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        for earlier, later in zip(before, after, strict=False):
            yield from pair_digests(earlier, later)
    elif isinstance(before, str) and isinstance(after, str) and before != after and DIGEST.fullmatch(before):
        yield before, after


def choose_pseudonyms(snapshot: Snapshot, words: Collection[str], node_names: Iterable[str]) -> Pseudonyms:
    """Choose a pseudonym for each name and domain. `words` are those of probes, in lower case, and `node_names` what
    hosts and nodes are called beside the inventory."""
    inventory = snapshot.inventory
    stay = parse_networks(
        str(network) for network in (inventory.spec.kubernetes.pod_cidr, inventory.spec.kubernetes.service_cidr)
    )
    hosts = dict.fromkeys(name.lower() for name in (*(host.name for host in inventory.hosts), *node_names))
    suffixes = dict.fromkeys(find_domains(snapshot, hosts, words))
    short = {name.removesuffix(f".{suffix}") for name in hosts for suffix in suffixes} | set(hosts)
    names = [name for name in sorted(short) if "." not in name and not is_numeric(name)]
    pseudonyms = {
        name: f"host{number:02}"
        for number, name in enumerate((candidate for candidate in names if candidate not in words), 1)
    }
    return Pseudonyms(
        Addresses(secrets.token_bytes(32), stay),
        pseudonyms,
        {domain: f"domain{number}.example" for number, domain in enumerate(suffixes, 1)},
        tuple(name for name in names if name in words),
    )


def is_numeric(name: str) -> bool:
    return not any(char.isalpha() for char in name)


def find_domains(snapshot: Snapshot, hosts: Iterable[str], words: Collection[str]) -> Iterator[str]:
    """List the domains behind the first label of host names, in search lists of resolvers, and in URLs of the spec."""
    addresses = [host.address.lower() for host in snapshot.inventory.hosts]
    search_domains = [
        word for answer in snapshot.answers.values() for line in DOMAIN.findall(answer.stdout) for word in line.split()
    ]
    url_hosts = re.findall(r"//([^/\s:@]+)", snapshot.inventory.spec.model_dump_json())
    for name in (
        *(host_name.partition(".")[2] for host_name in (*hosts, *addresses)),
        *search_domains,
        *(url_host.partition(".")[2] for url_host in url_hosts),
    ):
        domain = name.lower().strip(".")
        if "." in domain and not is_numeric(domain) and domain not in words and not domain.endswith("cluster.local"):
            yield domain


def explain_reach(reach: Reach) -> Hint:
    """Return a hint without names: the command that explains why the host was not reached."""
    return NO_HINT if reach.reached else Command("gpustack", "explain", reach.reference)


def replace_names(snapshot: Snapshot, pseudonyms: Pseudonyms) -> Snapshot:
    """Build the same snapshot under other names and addresses."""
    inventory, change = snapshot.inventory, pseudonyms.replace_in
    spec = Spec.model_validate(map_texts(inventory.spec.model_dump(mode="json", by_alias=True), change))
    hosts = tuple(anonymize_host(host, change) for host in inventory.hosts)
    source, values = Path("inventory") if inventory.source else None, map_texts(dict(inventory.values), change)
    renamed_inventory = Inventory(source, hosts, spec, values, inventory.file_secrets)
    answers = (
        replace(
            answer,
            location=answer.location if answer.location == CLUSTER else change(answer.location),
            stdout=change(answer.stdout),
            stderr=change(answer.stderr),
            missing_reason=change(answer.missing_reason),
        )
        for answer in snapshot.answers.values()
    )
    reach = [
        replace(
            host_reach,
            host=change(host_reach.host),
            reason=change(host_reach.reason),
            hint=explain_reach(host_reach),
            address=change(host_reach.address),
        )
        for host_reach in snapshot.reach.values()
    ]
    return Snapshot(
        snapshot.started_at,
        renamed_inventory,
        MappingProxyType({renamed_reach.host: renamed_reach for renamed_reach in reach}),
        index_answers(answers),
        snapshot.seconds,
    )


def anonymize_host(host: Host, change: Callable[[str], str]) -> Host:
    spec = HostSpec.model_validate(map_texts(host.spec.model_dump(mode="json", exclude_none=True), change))
    return replace(host, name=change(host.name), address=change(host.address), user=None, spec=spec)
