"""PromQL that makes one series per GPU of an exporter's series, one expression per recorded name.

Every expression takes `max by` a fixed set of labels. So a second job that scrapes the same exporter changes nothing,
an exporter's restart (another `instance`) and a new driver (another label) break no line, and blank values are gone:
DCGM marks unknown values by huge numbers (2^31, 2^47 or 2^63), which old exporters print.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpustack.vocabulary.fields import find_original, is_ambiguous, load_fields
from gpustack.vocabulary.labels import EXPORTER, HEARD_OF, HOSTS, TARGET, WORKLOAD_PREFIX
from gpustack.vocabulary.units import find_unit

GPU = "node, UUID, gpu, modelName, GPU_I_ID, GPU_I_PROFILE"
WORKLOAD = f"{GPU}, workload_namespace, workload_pod"
SAME_GPU = (*HOSTS, "UUID", "gpu", "GPU_I_ID")
"""The labels that all series of a GPU or MIG instance share."""

# Bounds of valid values: a value beyond them is blank or wrong.
RATIO, PERCENT, CELSIUS, WATTS = "<= 1.05", "<= 105", "<= 200", ">= 0 <= 10000"
MEMORY_CELSIUS = "> 0 <= 200"  # 0 is of boards without this sensor: gpustack/vocabulary/fields.py
MEBIBYTES, MEGAHERTZ = "< 1e9", "< 1e5"
BYTES_PER_SECOND, MEGABYTES_PER_SECOND, SMALL, COUNT = "< 1e14", "< 1e8", "< 1e6", "< 2147483632"
BIG = "< 9.2e18"


@dataclass(frozen=True)
class Rule:
    """Describe a recording rule. `labels` are put on every series of it, so one name can have several rules."""

    record: str
    expr: str
    labels: dict[str, str] = field(default_factory=dict)
    comment: str = ""


def normalize_metric(metric: str, keep: str, scale: str = "") -> str:
    """Normalize a metric, without blanks and in base units: `normalize_metric("X_MIB", "< 1e9", "* 1048576")`."""
    return f"({metric} {keep}) {scale}".strip()


def normalize_field(name: str, matchers: str = "") -> str:
    """Normalize a field by every name that exporters give it, in base units. A name that two fields share is left out:
    an expression cannot read the exporter's help text, which tells them apart."""
    return " or ".join(
        normalize_metric(
            f"{spelling}{matchers}",
            f">= {unit.minimum:.9g} <= {unit.maximum:.9g}",
            "" if unit.scale == 1 else f"* {unit.scale:.9g}" if unit.scale > 1 else f"/ {1 / unit.scale:.9g}",
        )
        for dcgm_field in load_fields()
        if find_original(dcgm_field).name == name
        for unit in (find_unit(dcgm_field.unit),)
        for spelling in dcgm_field.spellings
        if not is_ambiguous(spelling)
    )


def select_heard(matchers: str = "") -> str:
    """Select the GPUs of which an exporter tells anything, each by a field that it has."""
    return " or ".join(normalize_field(name, matchers) for name in HEARD_OF)


HEARD_GPUS = select_heard()


def select_held(*fields: str) -> str:
    """Select fields of GPUs that the kubelet gave to a pod, with `namespace` and `pod` of it. Later fields stand in for
    earlier ones.

    Where Prometheus honours the exporter's labels, a free GPU has the pod of the exporter, which `up` of the same
    target has, too."""
    renamed_series = " or ".join(normalize_field(name, f'{{{WORKLOAD_PREFIX}pod!=""}}') for name in fields)
    for label in ("namespace", "pod"):
        renamed_series = replace_label(renamed_series, label, WORKLOAD_PREFIX + label)
    pod_matchers = f'{{{WORKLOAD_PREFIX}pod="",pod!="",pod!~".*{EXPORTER}.*",container!~".*{EXPORTER}.*"}}'
    honoured_series = " or ".join(normalize_field(name, pod_matchers) for name in fields)
    return f"{renamed_series}\nor\n(\n{pad_lines(honoured_series)}\n) unless on ({', '.join(TARGET)}) up"


def select_without_pod(name: str, matcher: str = "") -> str:
    """Select a field of GPUs by its series that name no pod. Free GPUs have them, and those whose pods have the values
    of their own processes beside them."""
    matchers = ",".join(filter(None, (f'{WORKLOAD_PREFIX}pod=""', matcher)))
    podless_series = normalize_field(name, f'{{{matchers},pod=~"(.*{EXPORTER}.*)?"}}')
    honoured_series = normalize_field(name, f'{{{matchers},pod!=""}}')
    return f"{podless_series}\nor\n(\n{pad_lines(honoured_series)}\n) and on ({', '.join(TARGET)}) up"


def group_by_gpu(expr: str, *labels: str) -> str:
    """Group an expression to one series for each GPU or MIG instance (and `labels`); this is for figures of the board,
    whoever uses it."""
    return f"max by ({', '.join((GPU, *labels))}) (\n{pad_lines(label_node(expr))}\n)"


def group_by_workload(expr: str, *labels: str) -> str:
    """Group as `group_by_gpu`, with the pod that the kubelet gave the GPU to; free GPUs have no such labels.

    Where Prometheus honours the exporter's labels, `pod` is the workload's, and of a free GPU the exporter's own, which
    `up` of the same target has, too."""
    inner, target = f"(\n{pad_lines(expr)}\n)", f"on ({', '.join(TARGET)}) up"
    workload_series = f"{label_workload(f'{inner} unless {target}')}\nor\n{inner} and {target}"
    labelled_series = label_workload(label_node(workload_series), WORKLOAD_PREFIX)
    return f"max by ({', '.join((WORKLOAD, *labels))}) (\n{pad_lines(labelled_series)}\n)"


def label_workload(expr: str, prefix: str = "") -> str:
    """Set the labels of the workload from those of its pod, which may have a prefix."""
    return replace_label(
        replace_label(expr, "workload_namespace", f"{prefix}namespace"), "workload_pod", f"{prefix}pod"
    )


def label_node(expr: str) -> str:
    """Set `node` from the exporter's host label."""
    return fill_label(expr, "node", HOSTS)


def fill_label(expr: str, target: str, sources: Iterable[str]) -> str:
    """Fill a label from the labels that may hold its value in one or the other version of an exporter."""
    for source in sources:
        expr = replace_label(expr, target, source)
    return expr


def replace_label(expr: str, target: str, source: str) -> str:
    return f'label_replace(\n{pad_lines(expr)},\n  "{target}", "$1", "{source}", "(.+)"\n)'


def pad_lines(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
