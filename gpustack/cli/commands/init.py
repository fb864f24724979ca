"""The command `gpustack init`, which writes a commented inventory or prints the JSON Schema of the cluster spec."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli.help import declare_command
from gpustack.cli.root import ROOT, SETUP
from gpustack.command import Command
from gpustack.errors import UsageError, describe_os_error
from gpustack.files.json_text import dump_json


@declare_command(ROOT, "gpustack init mycluster", "gpustack init --schema > spec.schema.json", heading=SETUP)
def init(
    directory: Annotated[Path | None, typer.Argument(metavar="DIR", help="Directory of the new inventory.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the spec, for editors.")] = False,
) -> None:
    """Write a commented inventory to start from.

    It has every setting with its default and its meaning. Existing files are never overwritten."""
    from gpustack.config.example import render_example
    from gpustack.config.spec import build_schema
    from gpustack.files.write import write_file

    if schema:
        if directory is not None:
            reason, hint = "--schema prints to stdout and writes no directory.", Command("gpustack", "init", "--schema")
            raise UsageError("init-schema-dir", "--schema and DIR are mutually exclusive.", reason, hint)
        sys.stdout.write(dump_json(build_schema(), indent=2) + "\n")
        return
    if directory is None:
        raise UsageError(
            "init-missing-dir", "The directory of the new inventory is missing.", "", Command("gpustack", "init", "DIR")
        )
    texts = {directory / path: text for path, text in render_example().items()}
    if existing_files := [str(path) for path in texts if os.path.exists(path)]:  # noqa: PTH110 - it is False for a name too long
        reason = "\n".join(f"{path} exists" for path in existing_files)
        raise UsageError(
            "init-exists", f"Nothing was written to {directory}.", reason, Command("gpustack", "init", "ANOTHER-DIR")
        )
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, text, readers="umask", new=True)
        except OSError as error:
            reason = describe_os_error(error)
            raise UsageError(
                "init-unwritable", f"{path} cannot be written.", reason, Command("gpustack", "init", "DIR")
            ) from error
        sys.stdout.write(f"{path}\n")
    plan = Command("gpustack", "plan", "-i", str(directory))
    sys.stderr.write(f"next: write your hosts into {directory / 'hosts.yml'}, then: {plan}\n")
