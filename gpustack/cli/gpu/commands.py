"""The app of the commands `gpustack gpu`, with `list`, `metrics`, `check-exporter` and `top`."""

import re
import sys
import time
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.burn import burn
from gpustack.cli.gpu.changes import MEMBERS
from gpustack.cli.gpu.diag import diag
from gpustack.cli.gpu.health import NodeOption, judge_health
from gpustack.cli.gpu.listings import watch
from gpustack.cli.gpu.prometheus import CaOption, CertificateOption, RecordedSource, Source, TokenOption
from gpustack.cli.gpu.readers import list_readers
from gpustack.cli.help import build_group, declare_command
from gpustack.cli.option_groups import Session
from gpustack.events import Event
from gpustack.report.renderings import ACTIVITY, BURN, CONTRACT, DIAGNOSTIC, FLEET, HEALTH, LISTING, METRICS
from gpustack.times import format_duration

if TYPE_CHECKING:
    from gpustack.gpus.activity import GpuActivity
    from gpustack.gpus.contract import Contract
    from gpustack.gpus.fleet import Fleet
    from gpustack.gpus.series import Metrics


class Rows(StrEnum):
    GPUS = "gpus"
    PODS = "pods"


app = build_group(
    "List, watch, test and change the GPUs of a cluster.\n\nThe commands diag, watch, group, policy, config, profiling "
    "and stats ask a DCGM host engine. By default there is none that can be asked: `gpu.dcgm: standalone` in the spec "
    "installs one (gpustack explain gpu-no-engine).",
    "gpustack gpu list -i mycluster",
    "gpustack gpu top -i mycluster",
    "gpustack gpu top pods --prometheus http://127.0.0.1:9090",
    "gpustack gpu diag -i mycluster",
)


@app.callback()
def gpu() -> None:
    pass


@declare_command(
    app,
    "gpustack gpu list -i mycluster",
    "gpustack gpu list -i mycluster --model H100 -o csv > gpus.csv",
    "gpustack gpu list --prometheus http://127.0.0.1:9090",
    result=FLEET,
    name="list",
    short="List GPUs with model, user and health.",
)
def list_gpus(
    *,
    source: RecordedSource,
    node: NodeOption = "",
    model: Annotated[
        str, typer.Option("--model", metavar="WORD", help="Show only models with this word in their name.")
    ] = "",
    session: Session,
) -> "Fleet":
    """List every GPU with its model, memory, link, driver, user and health.

    Values that differ from most GPUs of the model are marked."""
    with session.open_prometheus(source) as prometheus:
        from gpustack.gpus.fleet import FIELDS, build_fleet, select_cards
        from gpustack.gpus.queries import query_readings, query_sharing

        fleet = build_fleet(query_readings(prometheus, FIELDS), prometheus.fetch_time(), query_sharing(prometheus))
    return select_cards(fleet, node=node, model=model)


declare_command(
    app,
    "gpustack gpu health -i mycluster",
    "gpustack gpu health -i mycluster --node gpu1 -o json",
    "gpustack gpu health --gpu GPU-1c2d --prometheus http://127.0.0.1:9090",
    result=HEALTH,
    name="health",
    short="Judge the health of GPUs and nodes.",
)(judge_health)


@declare_command(
    app,
    "gpustack gpu metrics -i mycluster",
    "gpustack gpu metrics --prometheus http://127.0.0.1:9090 -o json",
    result=METRICS,
    name="metrics",
    short="List the GPU metrics in Prometheus.",
)
def list_metrics(*, source: RecordedSource, session: Session) -> "Metrics":
    """List the metrics of dcgm-exporter in Prometheus, with the number of GPUs, the range and the unit."""
    with session.open_prometheus(source) as prometheus:
        from gpustack.gpus import series

        return series.list_metrics(prometheus)


@declare_command(
    app,
    "gpustack gpu check-exporter -i mycluster",
    "gpustack gpu check-exporter http://10.0.0.12:9400/metrics --for 40s -o junit",
    result=CONTRACT,
    name="check-exporter",
    short="Check the metrics of a GPU exporter.",
)
def check_exporter(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="URL of the metrics. Default: an exporter of the cluster.")
    ] = "",
    token: TokenOption = None,
    certificate: CertificateOption = None,
    ca: CaOption = None,
    interval: Annotated[
        str,
        options.build_time_option(
            "--for", "1s", "1h", text="Scrape again after this time, 1s to 1h, to compare values. Default: scrape once."
        ),
    ] = "",
    *,
    session: Session,
) -> "Contract":
    """Check the metrics of dcgm-exporter: names, labels, types, units, blank and contradictory values, and pods.

    Missing fields are listed with the commands, alerts and dashboards that read them. The command exits with 1 if a
    check failed."""
    node_names: frozenset[str] = frozenset()
    with ExitStack() as stack:
        if not url:
            from gpustack.proof.connect import open_exporter
            from gpustack.proof.services import SCHEME

            address, number, node_names = stack.enter_context(open_exporter(session.open_inventory(), session.report))
            url = f"{SCHEME}://{address}:{number}/metrics"
        from gpustack.gpus.contract import judge_exporter
        from gpustack.metrics.exposition import fetch_page
        from gpustack.metrics.web import Web

        web = Web(Source(url, token, certificate=certificate, ca=ca).build_access())
        first_page, second_page, seconds = fetch_page(web), None, 0.0
        if interval:
            seconds = options.parse_duration(interval)
            session.report(Event("waiting", url, f"is asked again in {format_duration(seconds)}"))
            time.sleep(seconds)
            second_page = fetch_page(web)

    return judge_exporter(url, first_page, second_page, seconds, list_readers(), node_names=node_names)


def parse_labels(words: list[str]) -> dict[str, str]:
    """Parse labels of Prometheus, as NAME=VALUE. Raise BadParameter for other texts.

    Names are defined in https://prometheus.io/docs/concepts/data_model/#metric-names-and-labels.
    """
    labels = dict(word.partition("=")[::2] for word in words)
    for word in words:
        if not re.fullmatch(r"[A-Za-z_]\w*=.+", word, re.ASCII):
            raise options.refuse_value("--label", word, "NAME=VALUE, such as modelName=Tesla-T4")
    return labels


def complete_sort(incomplete: str) -> list[str]:
    from gpustack.gpus.activity import SORTS

    return [name for name in SORTS if name.startswith(incomplete)]


@declare_command(
    app,
    "gpustack gpu top -i mycluster",
    "gpustack gpu top -i mycluster pods --namespace team-a --sort sm",
    "gpustack gpu top -i mycluster --label modelName=Tesla-T4 --once",
    "gpustack gpu top -i mycluster --once -o json",
    result=ACTIVITY,
    short="Show the current activity of GPUs or pods.",
)
def top(
    *,
    rows: Annotated[Rows, typer.Argument(metavar="gpus|pods", help="Show one row per GPU, or per pod.")] = Rows.GPUS,
    source: RecordedSource,
    node: NodeOption = "",
    namespace: Annotated[
        str, typer.Option("--namespace", metavar="NAME", help="Show only GPUs of pods in this namespace.")
    ] = "",
    pod: Annotated[str, typer.Option("--pod", metavar="NAME", help="Show only GPUs of this pod.")] = "",
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label", metavar="NAME=VALUE", help="Show only series with this label (repeatable; all must match)."
        ),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            "--sort", metavar="COLUMN", help="Sort by this column, highest first.", autocompletion=complete_sort
        ),
    ] = "node",
    interval: Annotated[
        str, options.build_time_option("--every", "1s", "1h", text="Interval between two refreshes, 1s to 1h.")
    ] = "5s",
    once: Annotated[bool, typer.Option("--once", help="Print once and exit, as without a terminal.")] = False,
    session: Session,
) -> None:
    """Show the current activity of every GPU: SMs, tensor cores, memory, power, temperature and throttle reasons.

    The utilisation of nvidia-smi is shown only for GPUs without profiling fields, with a mark. It is the share of
    time with any kernel, and 100 % for one small loop."""
    from gpustack.gpus.activity import FIELDS, SORTS, Activity, build_activity, sort_activity

    if sort not in SORTS:
        raise options.refuse_names("--sort", [sort], SORTS)

    matches = parse_labels(label or [])

    def matches_filters(work: "GpuActivity") -> bool:
        has = [owner for owner in work.owners if namespace in ("", owner.namespace) and pod in ("", owner.pod)]
        return node in ("", work.gpu.node) and (bool(has) or not (namespace or pod))

    with session.open_prometheus(source) as prometheus:
        from gpustack.gpus.queries import query_readings

        def ask() -> Activity:
            return sort_activity(build_activity(query_readings(prometheus, FIELDS, matches), matches_filters), sort)

        if once or source.recording or session.output != "human" or not sys.stdout.isatty():
            session.show(ask(), pods=rows is Rows.PODS)
            return

        from gpustack.report.gpus.watch import watch_activity

        watch_activity(ask, options.parse_duration(interval), pods=rows is Rows.PODS)


declare_command(
    app,
    "gpustack gpu diag -i mycluster",
    "gpustack gpu diag -i mycluster --node gpu1 -o junit > diag.xml",
    result=DIAGNOSTIC,
    short="Run DCGM's diagnostic on GPUs.",
)(diag)
declare_command(
    app,
    "gpustack gpu burn -i mycluster",
    "gpustack gpu burn --field dram-active --for 10m --node gpu1 -i mycluster",
    result=BURN,
    short="Stress-test free GPUs.",
)(burn)
declare_command(
    app,
    "gpustack gpu watch SM_ACTIVE POWER_USAGE -i mycluster",
    "gpustack gpu watch -i mycluster 1002 --node gpu1 --every 2s --count 10",
    result=LISTING,
    short="Show values measured by host engines now.",
)(watch)
for name, members in MEMBERS.items():
    app.add_typer(members, name=name)
