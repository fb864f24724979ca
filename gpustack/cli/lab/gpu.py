"""`gpustack lab gpu`: the simulated GPUs of lab hosts, changed while they run."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.help import declare, group

if TYPE_CHECKING:
    from gpustack.simulated.state_text import Gpu

app = group(
    "The simulated GPUs of lab hosts, which `gpustack lab up --gpus 2` gives them.",
    "gpustack lab gpu list",
    "gpustack lab gpu set host1:0 xid=79",
)

Name = Annotated[str | None, typer.Option(help="Name of the lab. Default: this checkout's.")]


def complete_gpu(incomplete: str) -> list[str]:
    from gpustack import lab
    from gpustack.errors import LabError

    try:
        made = lab.find()
    except LabError:
        return []
    names = [f"{host.name}:{index}" for host in made.hosts for index in range(host.gpus)]
    return [name for name in names if name.startswith(incomplete)]


def complete_word(incomplete: str) -> list[str]:
    from gpustack.simulated.words import LOADS, NUMBERS

    plain = ["lost", "found", "recover", "power-brake", "xid=", *(f"load={load}" for load in LOADS)]
    numbers = [f"{key.replace('_', '-')}=" for key in NUMBERS]
    return [word for word in (*plain, *numbers) if word.startswith(incomplete)]


Which = Annotated[
    str, typer.Argument(metavar="HOST:INDEX", help="host1:0, or host1 for all of it.", autocompletion=complete_gpu)
]
Words = Annotated[
    list[str],
    typer.Argument(
        metavar="WORD…",
        help="lost, found, xid=79, load=training|inference|idle, temp=92, power-brake, ecc-dbe=1, recover, KEY=NUMBER.",
        autocompletion=complete_word,
    ),
]


@declare(app, "gpustack lab gpu list", name="list", short="List the GPUs of each host.")
def list_gpus(name: Name = None) -> None:
    """List each GPU of each host: UUID, model, and what was set."""
    from gpustack import lab

    made = lab.find(name)
    lines = [
        _describe_gpu(host.name, index, gpu) for host in made.hosts for index, gpu in enumerate(made.gpus(host.name))
    ]
    typer.echo("\n".join(lines) or f"lab {made.name} has no GPUs")


@declare(
    app,
    "gpustack lab gpu show host1:0",
    "gpustack lab gpu show host1",
    name="show",
    short="Show all values of a GPU.",
)
def show_gpu(gpu: Which, name: Name = None) -> None:
    """Show all values of a GPU, or of all GPUs of a host: its properties, then what was set."""
    from gpustack import lab

    made = lab.find(name)
    host, indices = made.which_gpus(gpu)
    for index in indices:
        found = made.gpus(host)[index]
        typer.echo(f"{host}:{index}")
        for key, value in {**found.facts, **found.live}.items():
            typer.echo(f"  {key:12} {value}")


@declare(
    app,
    "gpustack lab gpu set host1:0 xid=79",
    "gpustack lab gpu set host1 load=training",
    "gpustack lab gpu set host2:1 recover",
    name="set",
    short="Change the state of a simulated GPU.",
)
def set_gpu(gpu: Which, words: Words, name: Name = None) -> None:
    """Change the state of a GPU, at once for the host and for every container that has it."""
    from gpustack import lab

    made = lab.find(name)
    host, indices = made.which_gpus(gpu)
    for index, after in zip(indices, made.set_gpu(gpu, *words), strict=True):
        typer.echo(_describe_gpu(host, index, after))


def _describe_gpu(host: str, index: int, gpu: "Gpu") -> str:
    live = " ".join(f"{key}={value}" for key, value in gpu.live.items()) or "-"
    return f"{host}:{index}  {gpu.uuid}  {gpu.name}  {live}"
