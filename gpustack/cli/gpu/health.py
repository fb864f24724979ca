"""The command `gpustack gpu health`."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.gpu.prometheus import RecordedSource, Source, open_source
from gpustack.cli.option_groups import Session
from gpustack.events import Reporter

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.config.inventory import Inventory
    from gpustack.health.fleet import Health
    from gpustack.health.host_sources import HostSources
    from gpustack.health.sources import Sources

NodeOption = Annotated[str, typer.Option("--node", metavar="NAME", help="Show only GPUs of this node.")]


def judge_health(
    *,
    source: RecordedSource,
    node: NodeOption = "",
    gpu: Annotated[
        str, typer.Option("--gpu", metavar="ID", help="Show only this GPU, by its index or the beginning of its UUID.")
    ] = "",
    session: Session,
) -> "Health":
    """Judge every GPU and node: ok, watch, restart-app, reset, reboot, replace or unknown.

    Whatever ends work on a node needs two sources that name a fault: the driver, Xids, DCGM's health watches, the
    kubelet. With an inventory, hosts and the API are asked once for kernel logs, the health of devices, and the GPUs of
    the last proof; with --prometheus these are missing. Nothing is changed."""
    sources = gather_sources(source, session)
    from gpustack.health.fleet import build_health, select_gpus

    return select_gpus(build_health(sources), node=node, gpu=gpu)


def gather_sources(source: RecordedSource, session: Session) -> "Sources":
    """Gather the sources. With an inventory, hosts are asked in the round that finds Prometheus."""
    if not source.uses_inventory:
        with session.open_prometheus(source) as prometheus:
            from gpustack.health.sources import read_sources

            return read_sources(prometheus)
    hosts = session.open_inventory()
    from gpustack.health.host_answers import HOST_SOURCE_PROBES, read_host_sources
    from gpustack.proof.services import ACCESS_PROBES

    snapshot = session.gather(hosts, (*ACCESS_PROBES, *HOST_SOURCE_PROBES))
    return ask_sources(source, hosts, session.report, read_host_sources(snapshot), snapshot)


def ask_sources(
    source: Source,
    hosts: "Inventory",
    report: Reporter,
    host_sources: "HostSources",
    snapshot: "Snapshot | None" = None,
) -> "Sources":
    """Read the sources in Prometheus, beside those of hosts. A snapshot with the answers to ACCESS_PROBES saves asking
    the hosts where it is."""
    from gpustack.health.sources import read_sources

    with open_source(source, hosts, report, snapshot=snapshot) as prometheus:
        return read_sources(prometheus, host_sources)
