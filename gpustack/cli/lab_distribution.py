"""The distribution gpustack-lab, which adds the commands of lab hosts and builds bundles. No other module looks for it.

Its entry points are `commands`, a function that adds commands to an app, and `inventory`, one that returns the path of
the running lab's inventory.
"""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from gpustack.cli.help import declare_absent_command
from gpustack.command import Command
from gpustack.errors import UsageError

ENTRY_POINTS = "gpustack_lab-*.dist-info/entry_points.txt"


def load_entry_point(name: str) -> Any:
    """Load an entry point of the distribution. Raise UsageError where the distribution is absent or does not fit."""
    try:
        module, attribute = read_entry_points()[name]
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, KeyError) as error:
        message = "The lab is a distribution of its own, which is not installed or does not fit."
        reason = f"gpustack-lab: {type(error).__name__}: {error}"
        hint = Command(sys.executable, "-m", "pip", "install", "--no-deps", "./lab", note="in a checkout of gpustack")
        raise UsageError("lab-not-installed", message, reason, hint) from error


def read_entry_points() -> dict[str, tuple[str, str]]:
    """Read module and attribute of each entry point. Raise ModuleNotFoundError where the distribution is absent.

    importlib.metadata does the same, and its import takes a tenth of the time of `gpustack --help`."""
    for folder in sys.path:
        for path in Path(folder).glob(ENTRY_POINTS):
            lines = re.findall(r"^(\w+) = ([\w.]+):(\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            return {name: (module, attribute) for name, module, attribute in lines}
    raise ModuleNotFoundError("it is not installed")


def add_lab_commands(app: typer.Typer, bundle_app: typer.Typer, heading: str) -> bool:
    """Add the commands of the distribution, and tell whether it is there. Without it, their names raise the UsageError
    that says how to get it."""
    try:
        load_entry_point("commands")(app, bundle_app, heading)
        return True
    except UsageError as error:
        declare_absent_command(app, "lab", error)
        declare_absent_command(bundle_app, "build", error)
        return False
