"""`init`: a commented example inventory, or the JSON Schema of the cluster spec."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.files.json_text import dump_json


def init(
    directory: Annotated[Path | None, typer.Argument(metavar="DIR", help="New directory of the inventory.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the spec, for editors.")] = False,
) -> None:
    """Write a commented inventory to start from. Overwrites nothing.

    It has every setting with its default and its meaning."""
    from gpustack.config.example import example
    from gpustack.config.spec import schema as of_spec
    from gpustack.files.write import write_file

    if schema:
        if directory is not None:
            why, typed = "--schema prints to stdout and writes no directory.", Command("gpustack", "init", "--schema")
            raise UsageError("init-schema-dir", "--schema and DIR are mutually exclusive.", why, typed)
        sys.stdout.write(dump_json(of_spec(), indent=2) + "\n")
        return
    if directory is None:
        raise UsageError(
            "init-missing-dir", "The directory of the new inventory is missing.", "", Command("gpustack", "init", "DIR")
        )
    texts = {directory / path: text for path, text in example().items()}
    if present := [str(path) for path in texts if os.path.exists(path)]:  # noqa: PTH110 - of a name too long, False
        why = "\n".join(f"{path} exists" for path in present)
        raise UsageError(
            "init-exists", f"Nothing was written to {directory}.", why, Command("gpustack", "init", "ANOTHER-DIR")
        )
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, text, readers="umask", new=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(
                "init-unwritable", f"{path} cannot be written.", why, Command("gpustack", "init", "DIR")
            ) from error
        sys.stdout.write(f"{path}\n")
    plan = Command("gpustack", "plan", "-i", str(directory))
    sys.stderr.write(f"next: write your hosts into {directory / 'hosts.yml'}, then: {plan}\n")
