"""The table of what each alert needs so that it can fire: fields of DCGM, metrics of other programs, and labels.

The table is gpustack/versions/alert-needs.csv, which `make values` writes from the expressions of the rules
(scripts/values/needs.py, which says what its words are).
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cache

from gpustack.config.versions import read_rows
from gpustack.vocabulary.fields import find_fields

Words = frozenset[str]
"""These words are needed together: names of fields and metrics, and labels in braces."""
TARGET_SERIES = ("up", "scrape_duration_seconds")
"""Prometheus writes these series of each target, with the labels of the target alone."""
XID_COUNT, LAST_XID = "DCGM_EXP_XID_ERRORS_COUNT", "DCGM_FI_DEV_XID_ERRORS"
LATE_FIELDS = frozenset(
    {LAST_XID, "kube_pod_status_reason", "kube_pod_status_unschedulable", "kube_cronjob_created"}
    | {"kube_cronjob_status_last_successful_time", "kube_job_status_start_time", "kube_job_status_failed"}
    | {"kube_job_failed", "kube_job_complete"}
)
"""Metrics that have no series until there is something to tell: the first Xid, a pod that failed or that no node can
take, the daily diagnostic."""
LABEL_TEXTS = {
    "{pod}": "the label pod",
    "{GPU_I_ID}": "MIG instances",
    "{node}": "the node's name in the host label",
    "{UUID}": "the label UUID",
    "{modelName}": "the label modelName",
}


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
    smallest = (
        missing_set
        for missing_set in missing_sets
        if not any(smaller_set < missing_set for smaller_set in missing_sets)
    )
    return tuple(sorted(smallest, key=lambda words: (len(words), sorted(words))))


@cache
def list_needed_words() -> Words:
    """List the words that any alert needs."""
    return frozenset(word for alternatives in load_alert_needs().values() for words in alternatives for word in words)


def is_of_exporter(word: str) -> bool:
    """Tell whether a word is a field or a label of the exporter, and not a metric of another program."""
    return word.startswith(("DCGM_", "{"))


@cache
def list_needed_labels() -> Words:
    """List the labels of the exporter's series that alerts need, and fields that it sends as a label."""
    return frozenset(
        word
        for word in list_needed_words()
        if word[0] == "{" or any(field.kind == "label" for field in find_fields(word))
    )


def describe_sources_of_xids(fields: Collection[str]) -> str:
    """Describe what tells of the Xids of GPUs with these fields. The last Xid has no series before the first one, and
    images of dcgm-exporter 4.5.3-4.8.2 without an operating system may lose it (NVIDIA/dcgm-exporter#646, #700)."""
    if sources := [source for source in (XID_COUNT, LAST_XID) if source in fields]:
        return f"from {' and '.join(sources)}"
    return f"no {XID_COUNT}; {LAST_XID} begins with the first Xid, and dcgm-exporter 4.5.3-4.8.2 may lose it"


def list_silent_groups(present_words: Collection[str]) -> dict[str, list[str]]:
    """List the alerts that cannot fire with these words, by what is missing, as `A and B, or C`. A field that is sent
    only after an event counts as present."""
    groups: dict[str, list[str]] = {}
    for alert, alternatives in load_alert_needs().items():
        if missing := find_missing_words(alternatives, {*present_words, *LATE_FIELDS}):
            groups.setdefault(format_missing(missing), []).append(alert)
    return groups


def format_missing(missing: Iterable[Iterable[str]]) -> str:
    """Format what an alert lacks: for each way to make it fire the fields, and the labels by what they tell."""
    return ", or ".join(" and ".join(LABEL_TEXTS.get(word, word) for word in sorted(words)) for words in missing)
