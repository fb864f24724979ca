"""The commands `gpustack bundle`, which verify and serve the signed directory that a mirror has."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli.help import build_group, declare_command

app = build_group(
    "Verify and serve the files of an installation, for labs and rehearsals. Its GPU components are simulated.",
    "gpustack bundle verify ./bundle --fingerprint FINGERPRINT",
    "gpustack bundle serve ./bundle --listen 192.0.2.10:8480",
)


def find_default_directory() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("gpustack") / "bundle"


Fingerprint = Annotated[
    str | None, typer.Option(help="Fingerprint of the signing key. Default: the mirror key of this user.")
]
Directory = Annotated[
    Path | None, typer.Argument(help="Directory of the bundle. Default: `bundle` in the user's cache directory.")
]


@declare_command(
    app,
    "gpustack bundle verify",
    "gpustack bundle verify ./bundle --fingerprint FINGERPRINT",
    short="Check every file against the signed manifest.",
)
def verify(directory: Directory = None, fingerprint: Fingerprint = None) -> None:
    """Check every file of a bundle against its signed manifest."""
    from gpustack.bundle.verify import verify as check

    folder = directory or find_default_directory()
    manifest = check(folder, fingerprint=fingerprint)
    sys.stdout.write(f"{folder}: {len(manifest.files)} files as the manifest says, signed by {manifest.fingerprint}\n")


@declare_command(
    app,
    "gpustack bundle fingerprint",
    "gpustack bundle fingerprint ./bundle",
    short="Print the fingerprint of the key that signed a bundle.",
)
def fingerprint(directory: Directory = None) -> None:
    """Print the fingerprint of the key that signed a bundle, for `source.fingerprint` of the spec."""
    from gpustack.bundle.verify import read_fingerprint

    sys.stdout.write(f"{read_fingerprint(directory or find_default_directory())}\n")


@declare_command(
    app,
    "gpustack bundle serve",
    "gpustack bundle serve ./bundle --listen 192.0.2.10:8480",
    short="Serve a bundle as a mirror, until Ctrl-C.",
)
def serve(
    directory: Directory = None,
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", help="Address and port to listen on. Clients need no login.")
    ] = "127.0.0.1:8480",
    fingerprint: Fingerprint = None,
) -> None:
    """Serve the packages, images and files of a bundle on one address, until Ctrl-C."""
    from gpustack.bundle.serve import serve as start

    server = start(directory or find_default_directory(), listen, fingerprint=fingerprint)
    sys.stderr.write(f"serving {directory or find_default_directory()} on http://{listen}; Ctrl-C ends it\n")
    try:
        raise typer.Exit(server.wait())
    finally:
        server.stop()
