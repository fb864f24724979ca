"""The commands `gpustack lab gpu`, which list and change the simulated GPUs of lab hosts."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.help import build_group, declare_command
from gpustack_lab.cli.lab_name import Name

if TYPE_CHECKING:
    from gpustack_lab.simulated.state_text import Gpu

app = build_group(
    "List and change the simulated GPUs of `gpustack lab up --gpus`.",
    "gpustack lab gpu list",
    "gpustack lab gpu set host1:0 xid=79",
)


def complete_gpu(incomplete: str) -> list[str]:
    from gpustack.errors import LabError
    from gpustack_lab import lab

    try:
        current_lab = lab.find_lab()
    except LabError:
        return []
    names = [f"{host.name}:{index}" for host in current_lab.hosts for index in range(host.gpus)]
    return [name for name in names if name.startswith(incomplete)]


def complete_word(incomplete: str) -> list[str]:
    from gpustack_lab.simulated.words import LOADS, NUMBERS

    plain_words = ["lost", "found", "recover", "power-brake", "xid=", *(f"load={load}" for load in LOADS)]
    numbers = [f"{key.replace('_', '-')}=" for key in NUMBERS]
    return [word for word in (*plain_words, *numbers) if word.startswith(incomplete)]


GpuArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOST:INDEX",
        help="GPU by host and index, such as host1:0, or host1 for all of its GPUs.",
        autocompletion=complete_gpu,
    ),
]
WordArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="WORD…",
        help="State: lost, found, xid=79, load=training|inference|idle, temp=92, power-brake, ecc-dbe=1, recover, "
        "KEY=NUMBER.",
        autocompletion=complete_word,
    ),
]


@declare_command(app, "gpustack lab gpu list", name="list", short="List the GPUs of each host.")
def list_gpus(name: Name = None) -> None:
    """List the GPUs of all hosts with UUID, model and values that were set."""
    from gpustack_lab import lab

    current_lab = lab.find_lab(name)
    lines = [
        _describe_gpu(host.name, index, gpu)
        for host in current_lab.hosts
        for index, gpu in enumerate(current_lab.read_gpus(host.name))
    ]
    typer.echo("\n".join(lines) or f"lab {current_lab.name} has no GPUs")


@declare_command(
    app,
    "gpustack lab gpu show host1:0",
    "gpustack lab gpu show host1",
    name="show",
    short="Show all values of a GPU.",
)
def show_gpu(gpu: GpuArgument, name: Name = None) -> None:
    """Show the properties of a GPU, or of all GPUs of a host, and the values that were set."""
    from gpustack_lab import lab

    current_lab = lab.find_lab(name)
    host, indices = current_lab.select_gpus(gpu)
    for index in indices:
        gpus = current_lab.read_gpus(host)[index]
        typer.echo(f"{host}:{index}")
        for key, value in {**gpus.facts, **gpus.live}.items():
            typer.echo(f"  {key:12} {value}")


@declare_command(
    app,
    "gpustack lab gpu set host1:0 xid=79",
    "gpustack lab gpu set host1 load=training",
    "gpustack lab gpu set host2:1 recover",
    name="set",
    short="Change the state of a simulated GPU.",
)
def set_gpu(gpu: GpuArgument, words: WordArguments, name: Name = None) -> None:
    """Change the state of a simulated GPU. The host and its containers see it at once."""
    from gpustack_lab import lab

    current_lab = lab.find_lab(name)
    host, indices = current_lab.select_gpus(gpu)
    for index, after in zip(indices, current_lab.set_gpu(gpu, *words), strict=True):
        typer.echo(_describe_gpu(host, index, after))


def _describe_gpu(host: str, index: int, gpu: "Gpu") -> str:
    live = " ".join(f"{key}={value}" for key, value in gpu.live.items()) or "-"
    return f"{host}:{index}  {gpu.uuid}  {gpu.name}  {live}"
