"""`gpustack gpu`: which GPUs there are, and how they are."""

from typing import Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import (
    AddressOption,
    CaOption,
    CertificateOption,
    Source,
    TenantOption,
    TokenOption,
    open_prometheus,
)
from gpustack.cli.help import declare, group

app = group(
    "See the GPUs of a cluster, as its Prometheus has them.",
    "gpustack gpu list -i mycluster",
    "gpustack gpu list --prometheus http://127.0.0.1:9090",
)


@app.callback()
def gpu() -> None:
    pass


@declare(
    app,
    "gpustack gpu list -i mycluster",
    "gpustack gpu list --model H100 -o csv > gpus.csv",
    "gpustack gpu list --prometheus http://127.0.0.1:9090",
    name="list",
    short="List every GPU: what it is, whose, and how it is.",
)
def list_gpus(
    inventory: options.InventoryOption = None,
    address: AddressOption = "",
    token: TokenOption = None,
    certificate: CertificateOption = None,
    ca: CaOption = None,
    tenant: TenantOption = "",
    node: Annotated[str, typer.Option("--node", metavar="NAME", help="Only GPUs of this node.")] = "",
    model: Annotated[str, typer.Option("--model", metavar="WORD", help="Only models with this in their name.")] = "",
    output: options.TableOutputOption = options.TableOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """List every GPU with model, memory, link, driver, who uses it, and what is wrong with it.

    What differs from most GPUs of its model is marked."""
    source = Source(address, token, certificate, ca, tenant)
    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        from gpustack.gpus.ask import ask_readings
        from gpustack.gpus.fleet import FIELDS, list_fleet, select

        found = list_fleet(ask_readings(prometheus, FIELDS))
    from gpustack.report.render import show

    show(select(found, node=node, model=model), output.value, inventory=hosts)
