"""`gpustack lab break`, `heal` and `faults`: faults on purpose, to rehearse what `gpustack doctor` says of them."""

from typing import Annotated

import typer

Name = Annotated[str | None, typer.Option(help="Name of the lab; by default this checkout's own.")]


def known(incomplete: str) -> list[str]:
    from gpustack.lab.faults.entries import injectors

    return [name for name in injectors() if name.startswith(incomplete)]


Which = Annotated[str | None, typer.Argument(metavar="[FAULT]", help="Only this one; else all.", autocompletion=known)]


def faults() -> None:
    """What the lab can break: each fault, where, and what is done there; what it cannot, and why."""
    from gpustack.lab.faults.entries import injectors, uncarried

    width = max(map(len, injectors()))
    for name, one in injectors().items():
        typer.echo(f"{name:{width}}  {one.where:13}  {one.does}")
    for layer in uncarried().values():
        for fault, why in layer.items():
            typer.echo(f"{fault:{width}}  {'not here':13}  {why}")


def break_(
    fault: Annotated[
        str, typer.Argument(metavar="[FAULT]", help="As `gpustack lab faults` has it.", autocompletion=known)
    ] = "",
    on: Annotated[str, typer.Option(metavar="HOST", help="On this host; by default where it tells most.")] = "",
    name: Name = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Do not wait until it shows.")] = False,
    decoys: Annotated[
        bool, typer.Option("--decoys", help="Instead: what looks like faults on all hosts, and is harmless.")
    ] = False,
) -> None:
    """Break one thing of a lab, as it breaks in the field, and wait until it shows.

    gpustack lab break host-ip-forward-off; gpustack doctor -i lab; gpustack lab heal
    """
    from gpustack import lab
    from gpustack.lab.faults import inject
    from gpustack.lab.faults.entries import find

    if bool(fault) == decoys:
        raise typer.BadParameter("Give either a fault, or --decoys.")
    made = lab.find(name)
    for one in inject.disguise(made) if decoys else inject.give(made, fault, on, wait=not quick):
        typer.echo(f"{one.host}: {one.injector}: {find(one.injector).does}")


def heal(fault: Which = None, name: Name = None) -> None:
    """Undo what `lab break` did, the last first."""
    from gpustack import lab
    from gpustack.lab.faults import inject

    healed = inject.heal(lab.find(name), fault or "")
    for one in healed:
        typer.echo(f"{one.host}: {one.injector} healed")
    if not healed:
        typer.echo("nothing was broken on purpose")
