"""The commands that this distribution adds to `gpustack`; pyproject.toml names the function as an entry point."""

import typer

from gpustack.cli.help import declare_command
from gpustack_lab.cli import bundle, commands


def add_commands(app: typer.Typer, bundle_app: typer.Typer, heading: str) -> None:
    """Add `lab` to the app, under the heading, and `build` to the app of `gpustack bundle`."""
    app.add_typer(commands.app, name="lab", rich_help_panel=heading)
    declare_command(
        bundle_app,
        "gpustack bundle build",
        "gpustack bundle build ./bundle --kubernetes 1.36.3",
        short="Build or update a bundle.",
    )(bundle.build)
