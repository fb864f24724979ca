"""A diagnosis in Prometheus' text format, for node-exporter's textfile collector.

What is asked for by name is always there, so that a rule can tell *nothing found* from *nobody asked*. Labels are ids
of the catalogue and hosts of the inventory, never the output of a host; and there are at most SERIES of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpustack.ask.redact.printable import plain
from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import graph
from gpustack.errors import UsageError
from gpustack.files.write import write_file

SERIES = 1_000
"""Of each metric. `gpustack_doctor_findings` counts all."""

Series = tuple[Mapping[str, str], float]


def text(found: Diagnosis) -> str:
    """`host` is a host of the inventory or @cluster."""
    roots = [series(one.id, "fault", one.locations, certainty=one.certainty) for one in found.roots]
    correlated = [
        series(one.id, "fault", (one.where,), certainty=root.certainty)
        for root in found.roots
        for one in root.correlated
    ]
    open_ones = [series(one.id, "state", one.locations) for one in found.unexplained]
    causes, bare = joined(*roots, *correlated), joined(*open_ones)
    return "".join(
        (
            metric("finding", "A root cause that the doctor confirmed.", causes[:SERIES]),
            metric("unexplained", "A symptom without a confirmed cause.", bare[:SERIES]),
            metric("doctor_findings", "Root causes, each on each host.", single(len(causes))),
            metric("doctor_drift", "Differences from the spec without a known fault.", single(len(found.drift))),
            metric("doctor_unknown_checks", "Checks that could not be evaluated.", single(len(found.unknown))),
            metric("doctor_healthy", "1 if nothing is wrong and no check is unknown.", single(found.healthy)),
            metric("doctor_duration_seconds", "How long the asking took.", single(found.snapshot.took)),
            metric(
                "doctor_last_run_timestamp_seconds",
                "When the hosts were asked.",
                single(found.snapshot.taken.timestamp()),
            ),
        )
    )


def series(id: str, name: str, locations: Iterable[str], **more: str) -> Iterator[Series]:
    for where in locations:
        yield {name: id, "host": plain(where), "layer": graph()[id].layer, **more}, 1


def joined(*several: Iterable[Series]) -> list[Series]:
    """Each once: Prometheus refuses a file that says a thing twice."""
    found = {tuple(labels.items()): (labels, value) for some in several for labels, value in some}
    return list(found.values())


def single(value: float) -> list[Series]:
    return [({}, value)]


def metric(name: str, help: str, found: Iterable[Series]) -> str:  # noqa: A002 - the word of the format
    lines = [f"# HELP gpustack_{name} {help}", f"# TYPE gpustack_{name} gauge"]
    for labels, value in found:
        pairs = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
        lines.append(f"gpustack_{name}{{{pairs}}} {number(value)}" if pairs else f"gpustack_{name} {number(value)}")
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def write(found: Diagnosis, path: Path) -> None:
    """In one piece or not at all: the collector may read at any moment, and takes only *.prom. Raises UsageError."""
    try:
        write_file(path, text(found), readers="all")  # node-exporter is another user than ours
    except OSError as error:
        why = f"{error.strerror or error}. It takes a plain file, or a new one, in a folder that you can write to."
        raise UsageError(
            "metrics-not-written", f"{path} was not written.", why, Command("ls", "-ld", str(path.parent))
        ) from error
