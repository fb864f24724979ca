"""The commands `gpustack lab inject`, `recover` and `faults`, which rehearse the faults that doctor finds."""

from typing import Annotated

import typer

from gpustack_lab.cli.lab_name import Name


def complete_fault(incomplete: str) -> list[str]:
    from gpustack_lab.lab.faults.entries import read_injectors

    return [name for name in read_injectors() if name.startswith(incomplete)]


def faults() -> None:
    """List the faults that can be injected, with target and effect, and those that a lab cannot have."""
    from gpustack_lab.lab.faults.entries import read_injectors, read_uncarried_faults

    width, unavailable = max(map(len, read_injectors())), "not available in the lab"
    for name, injector in read_injectors().items():
        typer.echo(f"{name:{width}}  {injector.target:{len(unavailable)}}  {injector.does}")
    for layer in read_uncarried_faults().values():
        for fault, reason in layer.items():
            typer.echo(f"{fault:{width}}  {unavailable}  {reason}")


def inject(
    fault: Annotated[
        str,
        typer.Argument(metavar="FAULT", help="Id of a fault of `gpustack lab faults`.", autocompletion=complete_fault),
    ] = "",
    on: Annotated[
        str, typer.Option(metavar="HOST", help="Host to inject the fault on. Default: the host with the most effect.")
    ] = "",
    name: Name = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Do not wait until the fault takes effect.")] = False,
    noise: Annotated[
        bool,
        typer.Option(
            "--noise", help="Inject harmless conditions that look like faults on all hosts, instead of a fault."
        ),
    ] = False,
) -> None:
    """Inject one fault into a lab, and wait until it takes effect."""
    from gpustack_lab import lab
    from gpustack_lab.lab.faults import inject
    from gpustack_lab.lab.faults.entries import find

    if bool(fault) == noise:
        raise typer.BadParameter("Give either a fault, or --noise.")
    target_lab = lab.find_lab(name)
    for injection in (
        inject.inject_decoys(target_lab) if noise else inject.inject_fault(target_lab, fault, on, wait=not quick)
    ):
        typer.echo(f"{injection.host}: {injection.injector}: {find(injection.injector).does}")


def recover(
    fault: Annotated[
        str | None,
        typer.Argument(
            metavar="FAULT", help="Undo only this fault. Default: all faults.", autocompletion=complete_fault
        ),
    ] = None,
    name: Name = None,
) -> None:
    """Undo injected faults, the last one first."""
    from gpustack_lab import lab
    from gpustack_lab.lab.faults import inject

    injections = inject.undo_faults(lab.find_lab(name), fault or "")
    for injection in injections:
        typer.echo(f"{injection.host}: {injection.injector} recovered")
    if not injections:
        typer.echo("no fault was injected")
