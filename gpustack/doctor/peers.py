"""Difference between the hosts of a root cause and others: the result of the same check on hosts where it refuted the
fault. Most faults of a cluster are a difference between hosts."""

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.finding import Finding, Judgements, Peers, filter_judgements


def group_peers(root: Finding, judgements: Judgements) -> tuple[Peers, ...]:
    """Group the hosts without the fault by their value, the largest group first. Return nothing for a root cause of the
    cluster, and where no host refutes it."""
    first = root.judgements[0]
    if first.location == CLUSTER:
        return ()
    by_words: dict[str, list[str]] = {}
    for judgement in filter_judgements(judgements, "ok"):
        if judgement.id == root.id and judgement.result:
            is_same = first.result is not None and first.result.subject == judgement.result.subject
            by_words.setdefault(judgement.result.actual if is_same else str(judgement.result), []).append(
                judgement.location
            )
    groups = [Peers(tuple(hosts), words) for words, hosts in by_words.items()]
    return tuple(sorted(groups, key=lambda group: -len(group.hosts)))
