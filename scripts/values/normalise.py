"""PromQL that makes one series per GPU of an exporter's series, one expression per recorded name.

Every expression takes `max by` a fixed set of labels. So a second job that scrapes the same exporter changes nothing,
an exporter's restart (another `instance`) and a new driver (another label) break no line, and blank values are gone:
DCGM marks unknown values by huge numbers (2^31, 2^47 or 2^63), which old exporters print.
"""

from dataclasses import dataclass, field

GPU = "node, UUID, gpu, modelName, GPU_I_ID, GPU_I_PROFILE"
WORKLOAD = f"{GPU}, workload_namespace, workload_pod"

# Above these is a blank value, or nonsense.
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


def group_by_gpu(expr: str, *labels: str) -> str:
    """Group an expression to one series for each GPU or MIG instance (and `labels`); this is for figures of the board,
    whoever uses it."""
    return f"max by ({', '.join((GPU, *labels))}) (\n{pad_lines(label_node(expr))}\n)"


def group_by_workload(expr: str, *labels: str) -> str:
    """Group as `group_by_gpu`, with the pod that the kubelet gave the GPU to; free GPUs have no such labels."""
    labelled = replace_label(
        replace_label(label_node(expr), "workload_namespace", "exported_namespace"), "workload_pod", "exported_pod"
    )
    return f"max by ({', '.join((WORKLOAD, *labels))}) (\n{pad_lines(labelled)}\n)"


def label_node(expr: str) -> str:
    """Set `node` from the exporter's host label, which is `Hostname` up to 4.8.2 and `hostname` since."""
    return replace_label(replace_label(expr, "node", "Hostname"), "node", "hostname")


def replace_label(expr: str, target: str, source: str) -> str:
    return f'label_replace(\n{pad_lines(expr)},\n  "{target}", "$1", "{source}", "(.+)"\n)'


def pad_lines(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
