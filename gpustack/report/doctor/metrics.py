"""A diagnosis in Prometheus' text format, for the textfile collector of node-exporter.

Every metric is always present, so that a rule can distinguish *nothing found* from *not run*. Labels are ids of the
catalogue and hosts of the inventory, never output of a host. A metric has at most SERIES series.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpustack.ask.redact.printable import clean_text
from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import load_graph
from gpustack.errors import UsageError
from gpustack.files.write import write_file

SERIES = 1_000
"""A metric has so many series at most; `gpustack_doctor_findings` counts all of them."""

Series = tuple[Mapping[str, str], float]


def render_metrics(diagnosis: Diagnosis) -> str:
    """Render all metrics of a diagnosis. The label `host` is a host of the inventory or @cluster."""
    roots = [
        list_series(finding.id, "fault", finding.locations, certainty=finding.certainty) for finding in diagnosis.roots
    ]
    correlated_series = [
        list_series(judgement.id, "fault", (judgement.location,), certainty=root.certainty)
        for root in diagnosis.roots
        for judgement in root.correlated_causes
    ]
    symptoms = [list_series(symptom.id, "state", symptom.locations) for symptom in diagnosis.unexplained_symptoms]
    cause_series, symptom_series = merge_series(*roots, *correlated_series), merge_series(*symptoms)
    return "".join(
        (
            render_metric("finding", "A root cause that the doctor confirmed.", cause_series[:SERIES]),
            render_metric("unexplained", "A symptom without a confirmed cause.", symptom_series[:SERIES]),
            render_metric("doctor_findings", "Root causes, each on each host.", build_series(len(cause_series))),
            render_metric(
                "doctor_drift", "Differences from the spec without a known fault.", build_series(len(diagnosis.drift))
            ),
            render_metric(
                "doctor_unknown_checks", "Checks that could not be evaluated.", build_series(len(diagnosis.unknown))
            ),
            render_metric(
                "doctor_healthy", "1 if nothing is wrong and no check is unknown.", build_series(diagnosis.healthy)
            ),
            render_metric(
                "doctor_duration_seconds", "How long the asking took.", build_series(diagnosis.snapshot.seconds)
            ),
            render_metric(
                "doctor_last_run_timestamp_seconds",
                "When the hosts were asked.",
                build_series(diagnosis.snapshot.started_at.timestamp()),
            ),
        )
    )


def list_series(id: str, name: str, locations: Iterable[str], **labels: str) -> Iterator[Series]:
    for location in locations:
        yield {name: id, "host": clean_text(location), "layer": load_graph()[id].layer, **labels}, 1


def merge_series(*series_lists: Iterable[Series]) -> list[Series]:
    """Merge series and keep each set of labels once, since Prometheus refuses a file with duplicates."""
    series_by_labels = {
        tuple(labels.items()): (labels, value) for series_list in series_lists for labels, value in series_list
    }
    return list(series_by_labels.values())


def build_series(value: float) -> list[Series]:
    return [({}, value)]


def render_metric(name: str, help: str, series: Iterable[Series]) -> str:  # noqa: A002 - the word of the format
    lines = [f"# HELP gpustack_{name} {help}", f"# TYPE gpustack_{name} gauge"]
    for labels, value in series:
        pairs = ",".join(f'{label}="{escape_label(text)}"' for label, text in labels.items())
        lines.append(
            f"gpustack_{name}{{{pairs}}} {format_number(value)}" if pairs else f"gpustack_{name} {format_number(value)}"
        )
    return "\n".join(lines) + "\n"


def format_number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def escape_label(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def write_metrics(diagnosis: Diagnosis, path: Path) -> None:
    """Write the metrics atomically, because the collector may read at any moment. It reads only *.prom. Raise
    UsageError where the file cannot be written."""
    try:
        write_file(path, render_metrics(diagnosis), readers="all")  # node-exporter runs as another user
    except OSError as error:
        reason = f"{error.strerror or error}. It takes a plain file, or a new one, in a folder that you can write to."
        raise UsageError(
            "metrics-not-written", f"{path} was not written.", reason, Command("ls", "-ld", str(path.parent))
        ) from error
