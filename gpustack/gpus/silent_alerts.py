"""The alerts that cannot fire for the GPUs of a page of metrics, and the fields and labels that they lack there.

Only what an exporter sends is judged: a page says nothing about kube-state-metrics and the kubelet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpustack.gpus.field_states import find_boards, find_labelled_boards, has_value, list_boards
from gpustack.gpus.verdict import Verdict
from gpustack.metrics.exposition import Family
from gpustack.metrics.gpus import extract_gpu
from gpustack.metrics.readings import resolve_field
from gpustack.vocabulary.alert_needs import (
    LATE_FIELDS,
    Words,
    find_missing_words,
    is_of_exporter,
    list_needed_words,
    load_alert_needs,
)
from gpustack.vocabulary.fields import find_fields, find_original
from gpustack.vocabulary.labels import HOSTS, NO_NODE_NAME

Lack = tuple[Words, ...]


@dataclass(frozen=True)
class SilentAlert:
    """Name an alert that cannot fire for the GPUs of a model. `missing` has for each way to make it fire the fields and
    labels that are not there. The outcome is `unknown` where one of them is sent only after an event, such as the first
    Xid."""

    name: str
    model: str
    missing: tuple[tuple[str, ...], ...]
    outcome: Literal["silent", "unknown"] = "silent"

    @property
    def missing_inputs(self) -> list[str]:
        return [" & ".join(words) for words in self.missing]


def list_silent_alerts(families: Sequence[Family], verdicts: Sequence[Verdict]) -> tuple[SilentAlert, ...]:
    """List the alerts that cannot fire for any GPU of a model, by name and model."""
    models = index_models(families)
    lacks_by_model: dict[str, list[dict[str, Lack]]] = {}
    for board, words in list_board_words(families, verdicts).items():
        lacks_by_model.setdefault(models[board], []).append(list_lacks(words))
    silent_alerts = []
    for model, lacks in lacks_by_model.items():
        for alert in set(lacks[0]).intersection(*lacks[1:]):
            smallest_lack = min((board_lacks[alert] for board_lacks in lacks), key=lambda lack: len(lack[0]))
            is_late = any(words <= LATE_FIELDS for words in smallest_lack)
            missing = tuple(tuple(sorted(words)) for words in smallest_lack)
            silent_alerts.append(SilentAlert(alert, model, missing, "unknown" if is_late else "silent"))
    return tuple(sorted(silent_alerts, key=lambda alert: (alert.name, alert.model)))


def list_lacks(words: Iterable[str]) -> dict[str, Lack]:
    """List what each alert lacks that cannot fire for a board with these fields and labels."""
    needs = load_alert_needs()
    present_words = {*words, *(word for word in list_needed_words() if not is_of_exporter(word))}
    lacks = {alert: find_missing_words(alternatives, present_words) for alert, alternatives in needs.items()}
    return {alert: missing for alert, missing in lacks.items() if missing}


def list_board_words(families: Sequence[Family], verdicts: Sequence[Verdict]) -> dict[str, set[str]]:
    """List the fields that have a value, and the labels, of each board of a page. Its MIG instances count with it."""
    words: dict[str, set[str]] = {board: set() for board in sorted(list_boards(families))}
    labels = {name for name in list_needed_words() if (fields := find_fields(name)) and fields[0].kind == "label"}
    for name, boards in find_labelled_boards(families, labels).items():
        for board in boards:
            words[board].add(name)
    for family in families:
        field = resolve_field(family.name, (family.help,))
        values = [series for series in family.series if not field or has_value(field, series)]
        for board in find_boards(series.labels for series in values):
            words[board].add(find_original(field).name if field else family.name)
    for family in families:
        for series in family.series:
            if gpu := extract_gpu(series.labels):
                words[gpu.key[0]].update(list_label_words(series.labels))
    if all(verdict.outcome == "ok" or not verdict.names for verdict in verdicts if verdict.check == "pods"):
        for board_words in words.values():
            board_words.add("{pod}")  # GPUs that nobody uses have no pod
    return words


def list_label_words(labels: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{{{label}}}" for label in ("GPU_I_ID", "UUID", "modelName") if labels.get(label))
    host = next((labels[name] for name in HOSTS if labels.get(name)), "")
    if host and not NO_NODE_NAME.fullmatch(host):
        yield "{node}"


def index_models(families: Iterable[Family]) -> dict[str, str]:
    """Index the models by the UUID of their board; the UUID stands for a model without name."""
    models: dict[str, str] = {}
    for family in families:
        for series in family.series:
            if gpu := extract_gpu(series.labels):
                models[gpu.key[0]] = series.labels.get("modelName") or models.get(gpu.key[0]) or gpu.key[0]
    return models


def judge_alerts(alerts: Sequence[SilentAlert]) -> Verdict:
    """Judge whether all alerts can fire. That some cannot is no fault: boards differ."""
    count = len(load_alert_needs())
    names = tuple(dict.fromkeys(alert.name for alert in alerts))
    message = f"{count - len(names)} of {count} alerts have the fields and labels that they need of an exporter"
    return Verdict("alerts", "unknown" if names else "ok", message, names)
