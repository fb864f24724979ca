"""The command line. A command loads, calls one verb, reports and exits; every error leaves through the one door."""

import sys
from contextlib import suppress
from typing import Annotated

import typer

from gpustack.cli import access, alerts, bundle, doctor, init, install, kubeconfig, lab, look, prove, reset
from gpustack.cli.door import door

app = typer.Typer(
    name="gpustack",
    help="Bare Linux hosts become a Kubernetes GPU cluster that is proven to work.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SETUP, LOOK, TOOLS = "Install", "Look", "Around it"
app.command(rich_help_panel=SETUP)(init.init)
app.command(rich_help_panel=SETUP)(install.plan)
app.command(rich_help_panel=SETUP)(install.install)
app.command(rich_help_panel=SETUP)(install.verify)
app.command(rich_help_panel=SETUP)(prove.prove)
app.command(rich_help_panel=SETUP)(reset.reset)
app.command(rich_help_panel=LOOK)(doctor.doctor)
app.command(rich_help_panel=LOOK)(look.explain)
app.command(rich_help_panel=LOOK)(look.snapshot)
app.command(rich_help_panel=LOOK)(kubeconfig.kubeconfig)
app.command("access", rich_help_panel=LOOK)(access.access)
app.add_typer(alerts.app, name="alerts", rich_help_panel=LOOK)
app.add_typer(bundle.app, name="bundle", rich_help_panel=TOOLS)
app.add_typer(lab.app, name="lab", rich_help_panel=TOOLS)
app.command(rich_help_panel=TOOLS)(look.version)


def shown(value: bool) -> None:
    if value:
        look.version()
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=shown, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    from gpustack.report.guard import guard

    with door():
        guard()
        try:
            app()
        finally:
            # Here an error still has a way out. A reader that has gone wants no more.
            with suppress(BrokenPipeError):
                sys.stdout.flush()


if __name__ == "__main__":
    main()
