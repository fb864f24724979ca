"""`gpustack bundle`: what a lab installs from in one signed directory, and a mirror that serves it."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.help import declare, group

app = group(
    "Build, verify and serve what an installation needs, for labs and rehearsals. GPU parts in it are simulated.",
    "gpustack bundle build",
    "gpustack lab up --gpus 2 --mirror $(gpustack bundle build --quiet)",
)


class Source(StrEnum):
    MODULES = "modules"


def default_directory() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("gpustack") / "bundle"


Fingerprint = Annotated[
    str | None, typer.Option(help="Key that must have signed it. Default: this user's own mirror key.")
]
Directory = Annotated[
    Path | None, typer.Argument(help="Directory of the bundle. Default: `bundle` in the user's cache directory.")
]


@declare(
    app,
    "gpustack bundle build",
    "gpustack bundle build ./bundle --kubernetes 1.36.3",
    short="Build a bundle, or bring one up to date.",
)
def build(
    directory: Directory = None,
    source: Annotated[
        Source, typer.Option("--from", help="`modules`: compiled from pinned Go modules.")
    ] = Source.MODULES,
    kubernetes: Annotated[
        list[str] | None, typer.Option(metavar="VERSION", help="Also include this Kubernetes version (repeatable).")
    ] = None,
    keda: Annotated[
        bool, typer.Option("--keda", help="Also include KEDA, for autoscaling.enabled: ten minutes the first time.")
    ] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Build a bundle for labs and rehearsals. Files that are already there and unchanged are kept."""
    from gpustack.bundle.build import build as build_all

    folder = directory or default_directory()
    wanted = tuple(kubernetes or ())
    build_all(folder, source=source.value, kubernetes=wanted, keda=keda, report=session.progress(quiet=quiet))
    sys.stdout.write(f"{folder}\n")


@declare(
    app,
    "gpustack bundle verify",
    "gpustack bundle verify ./bundle --fingerprint FINGERPRINT",
    short="Check every file against the signed manifest.",
)
def verify(
    directory: Directory = None,
    fingerprint: Fingerprint = None,
) -> None:
    """Check every file of a bundle against its signed manifest."""
    from gpustack.bundle.verify import verify as check

    folder = directory or default_directory()
    manifest = check(folder, fingerprint=fingerprint)
    sys.stdout.write(f"{folder}: {len(manifest.files)} files as the manifest says, signed by {manifest.fingerprint}\n")


@declare(
    app,
    "gpustack bundle fingerprint",
    "gpustack bundle fingerprint ./bundle",
    short="Print the fingerprint of the key that signed a bundle.",
)
def fingerprint(directory: Directory = None) -> None:
    """Print the fingerprint of the key that signed a bundle, for `source.fingerprint` of the spec."""
    from gpustack.bundle.verify import fingerprint as of

    sys.stdout.write(f"{of(directory or default_directory())}\n")


@declare(
    app,
    "gpustack bundle serve",
    "gpustack bundle serve ./bundle --listen 192.0.2.10:8480",
    short="Serve a bundle as a mirror, until Ctrl-C.",
)
def serve(
    directory: Directory = None,
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", help="Where to listen. Clients need no login.")
    ] = "127.0.0.1:8480",
    fingerprint: Fingerprint = None,
) -> None:
    """Serve the packages, images and files of a bundle on one address, until Ctrl-C."""
    from gpustack.bundle.serve import serve as start

    running = start(directory or default_directory(), listen, fingerprint=fingerprint)
    sys.stderr.write(f"serving {directory or default_directory()} on http://{listen}; Ctrl-C ends it\n")
    try:
        raise typer.Exit(running.wait())
    finally:
        running.stop()
