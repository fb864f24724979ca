"""A diagnosis in Prometheus' text format, for the textfile collector of node-exporter.

Every metric is always present, so that a rule can distinguish *nothing found* from *not run*. Labels are ids of the
catalogue and hosts of the inventory, never output of a host. A metric has at most SERIES series.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from gpustack.ask.redact.printable import clean_text
from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import load_graph
from gpustack.errors import UsageError, describe_os_error
from gpustack.files.write import find_refusal, write_file
from gpustack.vocabulary.doctor_metrics import DOCTOR_METRICS

SERIES = 1_000
"""A metric has so many series at most; `gpustack_doctor_findings` counts all of them."""


def render_metrics(diagnosis: Diagnosis) -> str:
    """Render all metrics of a diagnosis. The label `host` is a host of the inventory or @cluster."""
    from prometheus_client import CollectorRegistry, Gauge, generate_latest

    registry = CollectorRegistry()
    causes, symptoms = list_causes(diagnosis), list_symptoms(diagnosis)

    def declare(name: str, *labels: str) -> Gauge:
        return Gauge(name, DOCTOR_METRICS[name], labels, registry=registry)

    finding = declare("gpustack_finding", "fault", "host", "layer", "certainty", "class")
    for values in causes[:SERIES]:
        finding.labels(*values).set(1)
    unexplained_gauge = declare("gpustack_unexplained", "state", "host", "layer")
    for values in symptoms[:SERIES]:
        unexplained_gauge.labels(*values).set(1)
    totals: Mapping[str, float] = {
        "gpustack_doctor_findings": len(causes),
        "gpustack_doctor_drift": len(diagnosis.drift),
        "gpustack_doctor_unknown_checks": len(diagnosis.unknown),
        "gpustack_doctor_healthy": diagnosis.healthy,
        "gpustack_doctor_duration_seconds": diagnosis.snapshot.seconds,
        "gpustack_doctor_last_run_timestamp_seconds": diagnosis.snapshot.started_at.timestamp(),
    }
    for name, value in totals.items():
        declare(name).set(value)
    return generate_latest(registry).decode()


def list_causes(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """List the labels of each root cause and of each fault of the same act, once for each host."""
    roots = [
        (*labels, root.certainty, root.severity)
        for root in diagnosis.roots
        for labels in list_labels(root.id, root.locations)
    ]
    correlated_causes = [
        (*labels, root.certainty, root.severity)
        for root in diagnosis.roots
        for judgement in root.correlated_causes
        for labels in list_labels(judgement.id, (judgement.location,))
    ]
    return list(dict.fromkeys((*roots, *correlated_causes)))


def list_symptoms(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    symptoms = diagnosis.unexplained_symptoms
    return list(dict.fromkeys(labels for symptom in symptoms for labels in list_labels(symptom.id, symptom.locations)))


def list_labels(id: str, locations: Iterable[str]) -> list[tuple[str, str, str]]:
    return [(id, clean_text(location), load_graph()[id].layer) for location in locations]


def write_metrics(diagnosis: Diagnosis, path: Path) -> None:
    """Write the metrics atomically, because the collector may read at any moment. It reads only *.prom. Raise
    UsageError where the file cannot be written."""
    try:
        write_file(path, render_metrics(diagnosis), readers="all")  # node-exporter runs as another user
    except OSError as error:
        raise build_error(path, f"{describe_os_error(error)}.") from error


def require_writable(path: Path) -> None:
    """Require a file that can be written, before hosts are asked. Raise UsageError."""
    if refusal := find_refusal(path):
        raise build_error(path, f"{refusal.rstrip('.')}.")


def build_error(path: Path, cause: str) -> UsageError:
    reason = f"{cause} It takes a plain file, or a new one, in a directory that you can write to."
    hint = Command("ls", "-ld", str(path.parent))
    return UsageError("metrics-not-written", f"{path} was not written.", reason, hint)
