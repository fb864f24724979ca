"""The command `gpustack bundle build`, which compiles the signed directory that a lab installs from."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.bundle import Directory, find_default_directory


class Source(StrEnum):
    MODULES = "modules"


def build(
    directory: Directory = None,
    source: Annotated[
        Source, typer.Option("--from", help="Source of the programs; `modules`: compile pinned Go modules.")
    ] = Source.MODULES,
    kubernetes: Annotated[
        list[str] | None, typer.Option(metavar="VERSION", help="Include this further Kubernetes version (repeatable).")
    ] = None,
    keda: Annotated[
        bool, typer.Option("--keda", help="Include KEDA, for autoscaling.enabled. The first build takes ten minutes.")
    ] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Build a bundle for labs and rehearsals. Existing files that are unchanged are kept."""
    from gpustack_lab.bundle.build import build as build_all

    folder = directory or find_default_directory()
    versions = tuple(kubernetes or ())
    build_all(folder, source=source.value, kubernetes=versions, keda=keda, report=session.build_reporter(quiet=quiet))
    sys.stdout.write(f"{folder}\n")
