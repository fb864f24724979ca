"""The pages of the classes that `gpustack profile analyze` tells apart."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from gpustack.profile.classes import CLASSES
from gpustack.report.explain.documents import read_document
from gpustack.report.explain.width import wrap_text

DOCUMENT = "docs/profiling.md"
ROW = re.compile(r"(?m)^\| ([a-z][a-z-]+) \| (.+) \|$")


@cache
def list_classes() -> Mapping[str, str]:
    """List the conditions of all classes by name, from the table of the document on profiles."""
    chapter = read_document(DOCUMENT).partition("| class | conditions |")[2].partition("\n\n")[0]
    return dict(ROW.findall(chapter))


def render_class(name: str) -> Iterator[str]:
    yield f"{name}: a class of `gpustack profile analyze`\n"
    workload_class = next((entry for entry in CLASSES if entry.id == name), None)
    if workload_class and isinstance(workload_class.title, str):
        yield f"{wrap_text(workload_class.title)}\n"
    yield wrap_text(f"Conditions: {list_classes()[name]}.")
    if workload_class:
        yield "\nWhat to try"
        yield from (wrap_text(f"- {advice}") for advice in workload_class.advice)
        yield f"\nAfterwards\n{wrap_text(workload_class.success_criterion)}"
    yield f"\nMore\n  gpustack explain {DOCUMENT}\n  gpustack profile thresholds\n"
