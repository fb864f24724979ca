"""Series that alerts read, as Prometheus has them: fields by model of GPU, and names and labels of Kubernetes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Probe
from gpustack.probes.monitoring.workloads import build_query, list_samples
from gpustack.vocabulary.alert_needs import TARGET_SERIES, list_needed_words
from gpustack.vocabulary.fields import find_fields, find_original

NAME = "metric"
"""The label of the answer that has the name of a metric."""

EXPORTERS = '{name}{{job=~".*dcgm.*"}} or {name} and on (job, instance) {{__name__=~"DCGM_FI_.+"}}'
"""A series of targets, of those alone that are exporters of GPUs by their job or by what they tell."""


@dataclass(frozen=True)
class AlertInputs:
    """Hold the fields of each model of GPU by the model's name, and the words of all other metrics and their labels as
    the table of needs spells them."""

    fields: Mapping[str, frozenset[str]]
    other_words: frozenset[str]


def list_other_names() -> list[str]:
    """List the metrics of other programs that alerts need."""
    return sorted(word for word in list_needed_words() if re.fullmatch(r"[a-z]\w+", word))


def list_other_labels() -> dict[str, list[str]]:
    """List the labels of such metrics that alerts need, by the metric. Series of targets are listed without any."""
    labels: dict[str, list[str]] = {name: [] for name in TARGET_SERIES if name in list_needed_words()}
    for word in sorted(list_needed_words()):
        if match := re.fullmatch(r"(\w+)\{(\w+)\}", word):
            labels.setdefault(match[1], []).append(match[2])
    return labels


def build_expression() -> str:
    """Build an expression with a sample for each field of each model, and for each other name and set of labels. The
    name is a label of its own, since `or` compares series without their names."""
    labels = list_other_labels()
    plain_names = [name for name in list_other_names() if name not in labels and name not in TARGET_SERIES]
    parts = [
        'group by (__name__, modelName) ({__name__=~"DCGM_(FI|EXP)_.+"})',
        f'group by (__name__) ({{__name__=~"{"|".join(plain_names)}"}})',
    ]
    for name, names in labels.items():
        selector = EXPORTERS.format(name=name) if name in TARGET_SERIES else name
        parts.append(f"group by ({', '.join(('__name__', *names))}) ({selector})")
    return " or ".join(f'label_replace({part}, "{NAME}", "$1", "__name__", "(.+)")' for part in parts)


def parse_inputs(answer: Answer) -> AlertInputs:
    """Parse the inputs. Raise ValueError where the answer is none to an instant query."""
    fields: dict[str, set[str]] = {}
    other_words: set[str] = set()
    for sample in list_samples(answer):
        labels = dict(sample["metric"])
        labels.pop("__name__", "")
        name = labels.pop(NAME)
        if name.startswith("DCGM_"):
            fields.setdefault(labels.get("modelName", ""), set()).update(list_words(name))
        else:
            other_words |= {name, *(f"{name}{{{label}}}" for label, value in labels.items() if value)}
    return AlertInputs({model: frozenset(names) for model, names in sorted(fields.items())}, frozenset(other_words))


def list_words(name: str) -> Iterator[str]:
    """List the words of the table of needs for the name of a metric of the exporter."""
    yield find_original(fields[0]).name if (fields := find_fields(name)) else name


ALERT_INPUTS = Probe("dcgm.alert-inputs", build_query(build_expression()), parse_inputs)
