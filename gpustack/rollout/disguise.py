"""A snapshot under pseudonyms that is judged as the real one is.

What we bring to a cluster carries a digest of what we would bring, and that has addresses in it: where the recorded
digest was the right one, it is so under the new addresses.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.pseudonyms import Pseudonyms, disguised, pseudonyms
from gpustack.ask.recording import values_without_secrets
from gpustack.ask.script import command
from gpustack.ask.snapshot import Snapshot
from gpustack.config.versions import KNOWN_SETS, version_set
from gpustack.probes.kube import NODES
from gpustack.probes.system import HOSTNAME
from gpustack.rollout.overlay import of_cluster

DIGEST = re.compile(r"[0-9a-f]{12,64}")


def disguise(snapshot: Snapshot, questions: tuple[Probe[Any], ...]) -> tuple[Snapshot, Pseudonyms]:
    given = pseudonyms(snapshot, words(questions), called(snapshot))
    return judged_alike(snapshot, disguised(snapshot, given)), given


def without_secrets(snapshot: Snapshot) -> Snapshot:
    """With no secret among the Helm values, and judged as the real one is."""
    values = values_without_secrets(snapshot.inventory)
    if values == snapshot.inventory.values:
        return snapshot
    return judged_alike(snapshot, replace(snapshot, inventory=replace(snapshot.inventory, values=values)))


def judged_alike(snapshot: Snapshot, other: Snapshot) -> Snapshot:
    """`other` with the digests that follow from its own inventory, where `snapshot` has those of its own."""
    again = dict(digests(of_cluster(snapshot), of_cluster(other)))
    if not again:
        return other
    pattern = re.compile("|".join(map(re.escape, again)))
    answers = {
        key: replace(answer, out=pattern.sub(lambda found: again[found[0]], answer.out))
        for key, answer in other.answers.items()
    }
    return Snapshot(other.taken, other.inventory, other.reach, MappingProxyType(answers), other.took)


def called(snapshot: Snapshot) -> Iterator[str]:
    """What hosts and nodes call themselves."""
    for host in snapshot.inventory.hosts:
        with suppress(FactUnavailable):
            yield snapshot.fact(HOSTNAME, host.name)
    with suppress(FactUnavailable):
        yield from (node.name for node in snapshot.fact(NODES, ""))


@cache
def words(questions: tuple[Probe[Any], ...]) -> frozenset[str]:
    """Of what is asked, and of where packages come from, in small letters; names of the internet are whole, too."""
    text = " ".join((*map(command, questions), *(repr(version_set(name)) for name in KNOWN_SETS))).lower()
    found = set(re.findall(r"[a-z0-9][a-z0-9.-]*[a-z0-9]", text))
    return frozenset(found | {part for word in found for part in re.split(r"[.-]", word)} | parents(found))


def parents(names: set[str]) -> set[str]:
    return {".".join(parts[at:]) for parts in (name.split(".") for name in names) for at in range(1, len(parts) - 1)}


def digests(before: Any, now: Any) -> Iterator[tuple[str, str]]:
    """Pairs of digests at the same place of both."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in before.keys() & now.keys():
            yield from digests(before[key], now[key])
    elif isinstance(before, (list, tuple)) and isinstance(now, (list, tuple)):
        for one, other in zip(before, now, strict=False):
            yield from digests(one, other)
    elif isinstance(before, str) and isinstance(now, str) and before != now and DIGEST.fullmatch(before):
        yield before, now
