"""The command `gpustack config validate`, which judges an inventory and its spec without asking a host."""

import sys

from gpustack.cli import options, session
from gpustack.cli.help import build_group, declare_command
from gpustack.cli.root import ROOT, SETUP

app = build_group("Check an inventory and its spec.", "gpustack config validate -i mycluster")
ROOT.add_typer(app, name="config", rich_help_panel=SETUP)


@app.callback()
def config() -> None:
    pass


@declare_command(
    app,
    "gpustack config validate -i mycluster",
    "gpustack config validate -i mycluster && git commit",
    name="validate",
    short="Check an inventory and its spec; no host is asked.",
)
def validate(inventory: options.InventoryOption = None) -> None:
    """Check an inventory and its spec, and print every mistake with file and key.

    No host is asked. Exit status 0 means that the other commands accept the inventory."""
    from gpustack.config.addresses import is_example

    hosts = session.open_inventory(inventory, ask_password=False, quiet=True)
    names = ", ".join(host.name for host in hosts.hosts)
    sys.stdout.write(f"valid: {hosts.summary} ({names})\n")
    if examples := ", ".join(host.name for host in hosts.hosts if is_example(host.address)):
        sys.stdout.write(f"note: the addresses of {examples} are those of an example; no host has them\n")
