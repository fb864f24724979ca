"""The distribution gpustack-lab, which adds the commands of lab hosts and builds bundles. No other module looks for it.

Its entry points are `commands`, a function that adds commands to an app, and `inventory`, one that returns the path of
the running lab's inventory.
"""

import sys
from typing import Any

import typer

from gpustack.cli.help import declare_absent_command
from gpustack.command import Command
from gpustack.errors import UsageError

NAME = "gpustack-lab"
GROUP = "gpustack.lab"


def load_entry_point(name: str) -> Any:
    """Load an entry point of the distribution. Raise UsageError where the distribution is absent or does not fit."""
    from importlib.metadata import distribution

    try:
        (entry_point,) = distribution(NAME).entry_points.select(group=GROUP, name=name)
        return entry_point.load()
    except (ImportError, AttributeError, ValueError) as error:
        message = "The lab is a distribution of its own, which is not installed or does not fit."
        reason = f"{NAME}: {type(error).__name__}: {error}"
        hint = Command(sys.executable, "-m", "pip", "install", "--no-deps", "./lab", note="in a checkout of gpustack")
        raise UsageError("lab-not-installed", message, reason, hint) from error


def add_lab_commands(app: typer.Typer, bundle_app: typer.Typer, heading: str) -> None:
    """Add the commands of the distribution. Without it, their names raise the UsageError that says how to get it."""
    try:
        load_entry_point("commands")(app, bundle_app, heading)
    except UsageError as error:
        declare_absent_command(app, "lab", error)
        declare_absent_command(bundle_app, "build", error)
