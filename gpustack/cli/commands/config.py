"""The command `gpustack config validate`, which judges an inventory and its spec without asking a host."""

from typing import TYPE_CHECKING

from gpustack.cli import options, session
from gpustack.cli.help import build_group, declare_command
from gpustack.cli.option_groups import Output
from gpustack.cli.root import ROOT, SETUP
from gpustack.report.renderings import VALID_INVENTORY

if TYPE_CHECKING:
    from gpustack.config.validity import ValidInventory

app = build_group("Check an inventory and its spec.", "gpustack config validate -i mycluster")
ROOT.add_typer(app, name="config", rich_help_panel=SETUP)


@app.callback()
def config() -> None:
    pass


@declare_command(
    app,
    "gpustack config validate -i mycluster",
    "gpustack config validate -i mycluster && git commit",
    "gpustack config validate -i mycluster -o json      # in scripts",
    result=VALID_INVENTORY,
    name="validate",
    short="Check an inventory and its spec; no host is asked.",
)
def validate(inventory: options.InventoryOption = None, *, output: Output) -> "ValidInventory":
    """Check an inventory and its spec, and print every mistake with file and key.

    No host is asked. Exit status 0 means that the other commands accept the inventory, and 3 that it has mistakes."""
    from gpustack.config.validity import ValidInventory

    return ValidInventory(session.open_inventory(inventory, ask_password=False, quiet=True))
