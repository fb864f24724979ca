"""The table of what each alert needs so that it can fire: fields of DCGM, metrics of other programs, and labels.

The table is gpustack/versions/alert-needs.csv, which `make values` writes from the expressions of the rules
(scripts/values/needs.py, which says what its words are).
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cache

from gpustack.config.versions import read_rows

Words = frozenset[str]
"""What is needed together: the names of fields and metrics, and labels in braces."""
LATE_FIELDS = frozenset({"DCGM_FI_DEV_XID_ERRORS", "kube_pod_status_unschedulable"})
"""Metrics that have no series until there is something to tell: the first Xid, a pod that no node can take."""


@cache
def load_alert_needs() -> Mapping[str, tuple[Words, ...]]:
    """Load the alternatives of each alert, any of which is enough, by the alert's name."""
    return {
        alert: tuple(parse_words(text) for text in needs.split("|")) for alert, needs in read_rows("alert-needs.csv")
    }


def parse_words(text: str) -> Words:
    return frozenset(filter(None, (word.strip() for word in text.split("&"))))


def find_missing_words(alternatives: Iterable[Words], present_words: Collection[str]) -> tuple[Words, ...]:
    """Find what an alert lacks: for each alternative the words that are not present, the fewest first. None is left
    where the alert can fire. What a smaller set covers is left out."""
    missing_sets = {alternative.difference(present_words) for alternative in alternatives}
    if frozenset() in missing_sets:
        return ()
    smallest = (each for each in missing_sets if not any(other < each for other in missing_sets))
    return tuple(sorted(smallest, key=lambda words: (len(words), sorted(words))))
