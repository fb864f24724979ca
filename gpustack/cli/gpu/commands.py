"""`gpustack gpu`: which GPUs there are, and how they are."""

import re
import sys
import time
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.gpu.burn import burn
from gpustack.cli.gpu.changes import MEMBERS
from gpustack.cli.gpu.diag import diag
from gpustack.cli.gpu.listings import watch
from gpustack.cli.gpu.prometheus import (
    CaOption,
    CertificateOption,
    Source,
    TokenOption,
    open_part,
    open_prometheus,
)
from gpustack.cli.help import declare, group
from gpustack.events import Event

if TYPE_CHECKING:
    from gpustack.gpus.activity import Work


class Rows(StrEnum):
    GPUS = "gpus"
    PODS = "pods"


NodeOption = Annotated[str, typer.Option("--node", metavar="NAME", help="Only GPUs of this node.")]

app = group(
    "See, test and change the GPUs of a cluster.",
    "gpustack gpu list -i mycluster",
    "gpustack gpu top -i mycluster",
    "gpustack gpu top pods --prometheus http://127.0.0.1:9090",
    "gpustack gpu diag -i mycluster",
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
    *,
    inventory: options.InventoryOption = None,
    source: Source,
    node: NodeOption = "",
    model: Annotated[str, typer.Option("--model", metavar="WORD", help="Only models with this in their name.")] = "",
    output: options.TableOutputOption = options.TableOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """List every GPU with model, memory, link, driver, who uses it, and what is wrong with it.

    What differs from most GPUs of its model is marked."""
    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        from gpustack.gpus.ask import ask_readings, ask_sharing
        from gpustack.gpus.fleet import FIELDS, list_fleet, select

        found = list_fleet(ask_readings(prometheus, FIELDS), prometheus.now(), ask_sharing(prometheus))
    from gpustack.report.render import show

    show(select(found, node=node, model=model), output.value, inventory=hosts)


@declare(
    app,
    "gpustack gpu metrics -i mycluster",
    "gpustack gpu metrics --prometheus http://127.0.0.1:9090 -o json",
    name="metrics",
    short="List the metrics of GPUs that Prometheus has.",
)
def list_metrics(
    *,
    inventory: options.InventoryOption = None,
    source: Source,
    output: options.ShortOutputOption = options.ShortOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """List the metrics of dcgm-exporter that Prometheus has: of how many GPUs, between which values, in which unit."""
    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        from gpustack.gpus import series

        found = series.list_metrics(prometheus)
    from gpustack.report.render import show

    show(found, output.value, inventory=hosts)


@declare(
    app,
    "gpustack gpu check-exporter -i mycluster",
    "gpustack gpu check-exporter http://10.0.0.12:9400/metrics --for 40 -o junit",
    name="check-exporter",
    short="Check what an exporter of GPU metrics prints.",
)
def check_exporter(
    url: Annotated[str, typer.Argument(metavar="URL", help="Its metrics. Default: an exporter of the cluster.")] = "",
    inventory: options.InventoryOption = None,
    token: TokenOption = None,
    certificate: CertificateOption = None,
    ca: CaOption = None,
    apart: Annotated[
        int, typer.Option("--for", min=0, max=3600, metavar="SECONDS", help="Ask again then, for new values; 0: once.")
    ] = 0,
    output: options.OutputOption = options.Output.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Check names, labels, types, units, blank values, doubles and the mapping to pods of what dcgm-exporter prints.

    Exits with 1 when something of it is wrong."""
    with ExitStack() as opened:
        hosts = None
        if not url:
            url, hosts = opened.enter_context(open_part("exporter", inventory, become=become, quiet=quiet))
            url += "/metrics"
        from gpustack.gpus.contract import judge_exporter
        from gpustack.metrics.exposition import fetch_families
        from gpustack.metrics.web import Web

        web = Web(Source(url, token, certificate, ca, "").access())
        first, later = fetch_families(web), None
        if apart:
            session.progress(quiet=quiet)(Event("waiting", url, f"is asked again in {apart} s"))
            time.sleep(apart)
            later = fetch_families(web)
    from gpustack.report.codes import contract_code
    from gpustack.report.render import show

    found = judge_exporter(url, first, later, apart)
    show(found, output.value, inventory=hosts)
    raise typer.Exit(contract_code(found))


def parse_labels(words: list[str]) -> dict[str, str]:
    """Of Prometheus: https://prometheus.io/docs/concepts/data_model/#metric-names-and-labels"""
    found = dict(word.partition("=")[::2] for word in words)
    for word in words:
        if not re.fullmatch(r"[A-Za-z_]\w*=.+", word, re.ASCII):
            raise typer.BadParameter(f"--label takes NAME=VALUE, such as modelName=Tesla-T4, not {word}")
    return found


def complete_sort(incomplete: str) -> list[str]:
    from gpustack.gpus.activity import SORTS

    return [name for name in SORTS if name.startswith(incomplete)]


@declare(
    app,
    "gpustack gpu top -i mycluster",
    "gpustack gpu top pods --namespace team-a --sort sm",
    "gpustack gpu top --label modelName=Tesla-T4 --once",
    "gpustack gpu top --once -o json",
    short="Show what every GPU does now, and for whom.",
)
def top(
    *,
    rows: Annotated[Rows, typer.Argument(metavar="gpus|pods", help="A line for each GPU or pod.")] = Rows.GPUS,
    inventory: options.InventoryOption = None,
    source: Source,
    node: NodeOption = "",
    namespace: Annotated[str, typer.Option("--namespace", metavar="NAME", help="Only GPUs of pods in it.")] = "",
    pod: Annotated[str, typer.Option("--pod", metavar="NAME", help="Only GPUs of this pod.")] = "",
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="NAME=VALUE", help="Only series with this label; several: all."),
    ] = None,
    sort: Annotated[
        str,
        typer.Option("--sort", metavar="COLUMN", help="Highest first.", autocompletion=complete_sort),
    ] = "node",
    every: Annotated[float, typer.Option("--every", min=1, metavar="SECONDS", help="How often it is drawn anew.")] = 5,
    once: Annotated[bool, typer.Option("--once", help="Print it once, as without a terminal.")] = False,
    output: options.ShortOutputOption = options.ShortOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Show what every GPU does now: activity of its SMs, tensor cores and memory, power, heat, and what slows it down.

    A GPU that is busy by nvidia-smi may do little: utilisation there is the time with any kernel at all."""
    from gpustack.gpus.activity import FIELDS, SORTS, Activity, arrange, see_activity

    if sort not in SORTS:
        raise typer.BadParameter(f"--sort takes {', '.join(SORTS)}, not {sort}")

    matches = parse_labels(label or [])

    def wanted(work: "Work") -> bool:
        has = [owner for owner in work.owners if namespace in ("", owner.namespace) and pod in ("", owner.pod)]
        return node in ("", work.gpu.node) and (bool(has) or not (namespace or pod))

    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        from gpustack.gpus.ask import ask_readings

        def ask() -> Activity:
            return arrange(see_activity(ask_readings(prometheus, FIELDS, matches), wanted), sort)

        if once or output is not options.ShortOutput.HUMAN or not sys.stdout.isatty():
            from gpustack.report.render import show

            show(ask(), output.value, inventory=hosts, pods=rows is Rows.PODS)
            return
        from gpustack.report.gpus.watch import watch

        watch(ask, every, pods=rows is Rows.PODS)


declare(
    app,
    "gpustack gpu diag -i mycluster",
    "gpustack gpu diag --node gpu1 -o junit > diag.xml",
    short="Run DCGM's diagnostic on the GPUs of nodes.",
)(diag)
declare(
    app,
    "gpustack gpu burn -i mycluster",
    "gpustack gpu burn --field dram-active --for 10m --node gpu1 -i mycluster",
    short="Load free GPUs fully, and see whether that is reached.",
)(burn)
declare(
    app,
    "gpustack gpu watch SM_ACTIVE POWER_USAGE -i mycluster",
    "gpustack gpu watch 1002 --node gpu1 --every 2 --count 10",
    short="Show values that host engines measure now.",
)(watch)
for name, members in MEMBERS.items():
    app.add_typer(members, name=name)
