"""Section of the cluster spec about the diagnostic that idle GPUs run once a day."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from gpustack.config.complaint import Complaint
from gpustack.config.sections.section import Section

if TYPE_CHECKING:
    from gpustack.config.spec import Spec


class Care(Section):
    enabled: Annotated[
        bool, Field(description="run NVIDIA's diagnostic on idle GPUs once a day, level 1; docs/care.md")
    ] = False
    hour: Annotated[int, Field(strict=True, ge=0, le=23, description="the hour of the day, UTC")] = 3
    cordon: Annotated[
        bool, Field(description="let `gpustack care`, which a timer may run, cordon nodes; docs/care.md")
    ] = False


def judge_care(file: str, spec: "Spec") -> Iterator[tuple[set[str], Complaint]]:
    """Yield the keys that a complaint about care.enabled concerns, and the complaint."""
    if spec.care.enabled and not spec.monitoring.enabled:
        rule = "true, or care.enabled: false: its results are read there"
        yield {"care", "monitoring"}, Complaint(file, "gpustack.monitoring.enabled", "false", rule)
