"""`gpustack lab inject`, `recover` and `faults`: faults on purpose, to rehearse what `gpustack doctor` finds."""

from typing import Annotated

import typer

Name = Annotated[str | None, typer.Option(help="Name of the lab. Default: this checkout's.")]


def complete_fault(incomplete: str) -> list[str]:
    from gpustack.lab.faults.entries import injectors

    return [name for name in injectors() if name.startswith(incomplete)]


def faults() -> None:
    """List the faults that can be injected: where, and what is done. Then those that a lab cannot have, and why."""
    from gpustack.lab.faults.entries import injectors, uncarried

    width, unavailable = max(map(len, injectors())), "not available in the lab"
    for name, injector in injectors().items():
        typer.echo(f"{name:{width}}  {injector.where:{len(unavailable)}}  {injector.does}")
    for layer in uncarried().values():
        for fault, why in layer.items():
            typer.echo(f"{fault:{width}}  {unavailable}  {why}")


def inject(
    fault: Annotated[
        str, typer.Argument(metavar="FAULT", help="A fault of `gpustack lab faults`.", autocompletion=complete_fault)
    ] = "",
    on: Annotated[str, typer.Option(metavar="HOST", help="On this host. Default: where it has the most effect.")] = "",
    name: Name = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Do not wait until the fault shows.")] = False,
    noise: Annotated[
        bool, typer.Option("--noise", help="Instead of a fault: what looks like faults on all hosts, and is harmless.")
    ] = False,
) -> None:
    """Inject one fault into a lab, as it happens in the field, and wait until it shows."""
    from gpustack import lab
    from gpustack.lab.faults import inject
    from gpustack.lab.faults.entries import find

    if bool(fault) == noise:
        raise typer.BadParameter("Give either a fault, or --noise.")
    made = lab.find(name)
    for broken in inject.disguise(made) if noise else inject.give(made, fault, on, wait=not quick):
        typer.echo(f"{broken.host}: {broken.injector}: {find(broken.injector).does}")


def recover(
    fault: Annotated[
        str | None,
        typer.Argument(metavar="FAULT", help="Only this one. Default: all.", autocompletion=complete_fault),
    ] = None,
    name: Name = None,
) -> None:
    """Undo injected faults, the last one first."""
    from gpustack import lab
    from gpustack.lab.faults import inject

    recovered = inject.recover(lab.find(name), fault or "")
    for broken in recovered:
        typer.echo(f"{broken.host}: {broken.injector} recovered")
    if not recovered:
        typer.echo("no fault was injected")
