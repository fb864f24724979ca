"""The option --name of `gpustack lab`."""

from typing import Annotated

import typer


def complete_lab(incomplete: str) -> list[str]:
    from gpustack_lab.lab import state

    return [record.name for record in state.list_records() if record.name.startswith(incomplete)]


Name = Annotated[
    str | None,
    typer.Option(help="Name of the lab. Default: the lab of this checkout.", autocompletion=complete_lab),
]
