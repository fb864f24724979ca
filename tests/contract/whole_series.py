"""Series that a person wrote for tests of rules, with all labels that Prometheus stores with them."""

import json
import re
from collections.abc import Mapping

from tests.contract.timelines import Labels, StoredSeries, render_series

JOBS = {
    "DCGM_": "nvidia-dcgm-exporter",
    "kube_": "kube-state-metrics",
    "apiserver_": "apiserver",
    "kubelet_": "kubelet",
    "node_": "node-exporter",
}
"""The job whose targets have the metrics with this beginning."""
WORKLOAD = ("namespace", "pod", "container")
"""The exporter names the pod that has a GPU by these labels, and Prometheus names the exporter's own pod by them."""
WRITTEN_SERIES = re.compile(r"(series:\s*(?:>-\s*)?['\"]?)([\w:]+\{[^}]*\})")
INPUT = re.compile(r"(?m)^( +)input_series:\n")
Targets = Mapping[str, Labels]


def read_labels(series: str) -> dict[str, str]:
    name, _, rest = series.partition("{")
    return {"__name__": name, **dict(re.findall(r'(\w+)="([^"]*)"', rest))}


def find_job(name: str) -> str:
    """Find the job of a metric; empty for what no recorded page has."""
    return next((job for beginning, job in JOBS.items() if name.startswith(beginning)), "")


def find_targets(stored_series: StoredSeries) -> Targets:
    """Find by job the labels that Prometheus gave to one target."""
    return {
        labels["job"]: {name: value for name, value in labels.items() if name != "__name__"}
        for labels, _ in stored_series
        if labels["__name__"] == "up"
    }


def build_target(written_labels: Labels, targets: Targets) -> dict[str, str]:
    """Build the labels of the target of a series. Each node has an exporter of its own, whose labels may be written."""
    job = find_job(written_labels["__name__"])
    target = dict(targets.get(job, {}))
    if job != JOBS["DCGM_"]:
        return target
    node = written_labels.get("hostname") or written_labels.get("Hostname", "")
    target |= {"pod": f"{job}-{node}", "instance": f"{node}:9400"}
    return {name: written_labels.get(name, value) for name, value in target.items()}


def rename_labels(labels: Labels) -> dict[str, str]:
    """Name the labels of the workload as Prometheus does where it honours them."""
    workload = {name: labels[f"exported_{name}"] for name in WORKLOAD if labels.get(f"exported_{name}")}
    if "pod" in workload:
        workload.setdefault("container", "main")
    return {name: value for name, value in labels.items() if not name.startswith("exported_")} | workload


def complete_cases(text: str, targets: Targets, honour: bool) -> str:
    """Complete each series of a file of promtool's tests, and let each exporter of a case without `up` answer."""
    begin, *cases = INPUT.split(text)
    parts = [begin]
    for indent, case in zip(cases[::2], cases[1::2], strict=True):
        exporters: dict[str, None] = {}

        def complete(match: re.Match[str], exporters: dict[str, None] = exporters) -> str:
            labels = read_labels(match[2])
            target = build_target(labels, targets)
            if find_job(labels["__name__"]) == JOBS["DCGM_"]:
                exporters[render_series({"__name__": "up", **target})] = None
            whole_labels = target | labels
            return match[1] + render_series(rename_labels(whole_labels) if honour else whole_labels)

        whole_case = WRITTEN_SERIES.sub(complete, case)
        answers = [] if "'up{" in case else list(exporters)
        lines = (f"{indent}  - {{series: {json.dumps(series)}, values: 1x1000}}\n" for series in answers)
        parts += [f"{indent}input_series:\n", *lines, whole_case]
    return "".join(parts)
