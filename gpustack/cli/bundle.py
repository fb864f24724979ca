"""`gpustack bundle`: what a lab installs from in one signed directory, and a mirror that serves it."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli import options

app = typer.Typer(
    help="Build, verify and serve what an installation needs, for labs and rehearsals: GPU parts in it are stand-ins.",
    no_args_is_help=True,
)


class Source(StrEnum):
    MODULES = "modules"


def default_directory() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("gpustack") / "bundle"


Fingerprint = Annotated[
    str | None, typer.Option(help="The key that must have signed it. Default: this user's own mirror key.")
]
Directory = Annotated[
    Path | None, typer.Argument(help="The bundle's folder. Default: bundle in the user's cache folder.")
]


@app.command()
def build(
    directory: Directory = None,
    source: Annotated[
        Source, typer.Option("--from", help="modules: compiled from pinned Go modules, for labs and tests.")
    ] = Source.MODULES,
    kubernetes: Annotated[list[str] | None, typer.Option(help="Also this Kubernetes version (repeat).")] = None,
    quiet: options.QuietOption = False,
) -> None:
    """Build a bundle for labs and rehearsals; what is there already and unchanged is kept."""
    from gpustack.bundle.build import build as build_all
    from gpustack.cli import wiring

    folder = directory or default_directory()
    build_all(folder, source=source.value, kubernetes=tuple(kubernetes or ()), report=wiring.progress(quiet=quiet))
    sys.stdout.write(f"{folder}\n")


@app.command()
def verify(
    directory: Directory = None,
    fingerprint: Fingerprint = None,
) -> None:
    """Check every file of a bundle against its signed manifest."""
    from gpustack.bundle.verify import verify as check

    folder = directory or default_directory()
    manifest = check(folder, fingerprint=fingerprint)
    sys.stdout.write(f"{folder}: {len(manifest.files)} files as the manifest says, signed by {manifest.fingerprint}\n")


@app.command()
def fingerprint(directory: Directory = None) -> None:
    """Print the fingerprint of the key that signed a bundle, as `source.fingerprint` of the spec wants it."""
    from gpustack.bundle.verify import fingerprint as of

    sys.stdout.write(f"{of(directory or default_directory())}\n")


@app.command()
def serve(
    directory: Directory = None,
    listen: Annotated[
        str, typer.Option(help="ADDRESS:PORT; whoever reaches it may fetch, without a login")
    ] = "127.0.0.1:8480",
    fingerprint: Fingerprint = None,
) -> None:
    """Serve packages, images and files of a bundle on one address, until Ctrl-C."""
    from gpustack.bundle.serve import serve as start

    running = start(directory or default_directory(), listen, fingerprint=fingerprint)
    sys.stderr.write(f"serving {directory or default_directory()} on http://{listen}; Ctrl-C ends it\n")
    try:
        raise typer.Exit(running.wait())
    finally:
        running.stop()
