"""The pages of probes, whose names `gpustack snapshot --list` prints: what each asks, and what reads its answer."""

from collections.abc import Iterator
from textwrap import indent

from gpustack.doctor.probe_readers import ProbeReaders, list_probe_readers
from gpustack.report.explain.width import wrap_text

SCOPES = {"host": "each host", "cluster": "the Kubernetes API, on the acting control plane"}


def list_probe_commands() -> dict[str, str]:
    """List the commands of all probes, by id."""
    return {id: readers.command for id, readers in list_probe_readers().items()}


def render_probe(id: str) -> Iterator[str]:
    readers = list_probe_readers()[id]
    yield f"{id}: a probe, whose answer a snapshot has\n"
    yield wrap_text(f"It asks {SCOPES[readers.scope]}, and changes nothing.")
    yield f"\nBy hand\n  {readers.command}"
    if readers.fields:
        yield f"\nKept of each object\n{format_names(readers.fields)}"
    yield from render_readers(readers)
    yield ""


def render_readers(readers: ProbeReaders) -> Iterator[str]:
    if readers.steps:
        yield f"\nRead by the checks of the steps\n{format_names(readers.steps)}"
    if readers.pages:
        yield f"\nRead by the checks of the faults and states\n{format_names(readers.pages)}"
    if readers.observations:
        yield "\nRead by the doctor's observers\n" + "\n".join(f"  {title}" for title in readers.observations)
    if readers.steps or readers.pages:
        yield f"\nMore\n  gpustack explain {(*readers.steps, *readers.pages)[0]}"


def format_names(names: tuple[str, ...]) -> str:
    return indent(wrap_text(", ".join(names)), "  ")
