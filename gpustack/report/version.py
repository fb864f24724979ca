"""The result of `gpustack version`."""

from typing import Literal

from pydantic import Field

from gpustack.config.program_versions import ProgramVersions, list_lines
from gpustack.report.document import render_result
from gpustack.report.findings import print_text
from gpustack.report.renderings import VERSIONS
from gpustack.report.schema import Document, Shape
from gpustack.report.terminal import Terminal


class ComponentShape(Shape):
    """Describe a component of the version set."""

    name: str
    version: str


class VersionDocument(Document):
    """Describe the result of `gpustack version`."""

    kind: Literal["gpustack/version/v1"] = Field("gpustack/version/v1", alias="schema")
    gpustack_version: str
    version_set: str
    components: list[ComponentShape]
    python_version: str
    ansible_core_version: str


def render_human(console: Terminal, versions: ProgramVersions) -> None:
    for line in list_lines(versions):
        print_text(console, line)


def render_json(versions: ProgramVersions) -> str:
    return render_result(
        VERSIONS,
        VersionDocument,
        versions,
        gpustack_version=versions.gpustack,
        components=[{"name": name, "version": version} for name, version in versions.components.items()],
        python_version=versions.python,
        ansible_core_version=versions.ansible_core,
    )
