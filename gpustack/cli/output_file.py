"""The file that a command writes for an option. It is judged before a host or a server is asked."""

import os
from pathlib import Path
from typing import Annotated

import typer

from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.files.write import find_refusal

ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite the file that the command writes, if it exists.")]


def require_target(path: Path, reference: str, *, force: bool) -> None:
    """Require a file that can be written and, without `force`, does not exist. Raise UsageError, with this reference
    for a file that cannot be written."""
    if refusal := find_refusal(path):
        hint = Command("ls", "-ld", str(path.parent))
        raise UsageError(reference, f"{path} cannot be written.", refusal, hint)
    if os.path.lexists(path) and not force:
        raise UsageError("output-exists", f"{path} exists; nothing was read or written.")
