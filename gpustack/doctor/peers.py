"""How the hosts of a root differ from others: the result of the same check where it refuted the fault. Most faults
of a cluster are a difference between hosts."""

from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.finding import Finding, Judgements, with_outcome


@dataclass(frozen=True)
class Peers:
    """Hosts without the fault, in the order of the inventory, and what was found on all of them."""

    hosts: tuple[str, ...]
    found: str


def peers(root: Finding, judged: Judgements) -> tuple[Peers, ...]:
    """What most say comes first. None of a root of the cluster, and none where no host refutes it."""
    first = root.judged[0]
    if first.where == CLUSTER:
        return ()
    by_words: dict[str, list[str]] = {}
    for one in with_outcome(judged, "ok"):
        if one.id == root.id and one.result:
            same = first.result is not None and first.result.what == one.result.what
            by_words.setdefault(one.result.found if same else str(one.result), []).append(one.where)
    found = [Peers(tuple(hosts), words) for words, hosts in by_words.items()]
    return tuple(sorted(found, key=lambda one: -len(one.hosts)))
