"""Warnings of a plan: nothing of it differs, and each may cost data or a running job later, or says who is let in."""

from collections.abc import Callable

from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.chart_actions import describe_enabled_actions
from gpustack.config.inventory import map_release_charts
from gpustack.steps.containerd.runc import describe_overwritten_runc
from gpustack.steps.firewall.clients import describe_clients
from gpustack.steps.gpu.debian_components import describe_missing_component
from gpustack.steps.gpu.driver_sources import describe_missing_sources
from gpustack.steps.gpu.owner_driver import describe_owner_driver
from gpustack.steps.gpu.quotas import describe_unallowed_gpus
from gpustack.steps.gpu.rdma import describe_rdma_adapters
from gpustack.steps.gpu.unoffered import describe_unoffered_gpus
from gpustack.steps.monitoring.history import describe_short_history
from gpustack.steps.monitoring.values import describe_lost_history
from gpustack.steps.no_proxy import describe_missing_exceptions
from gpustack.steps.prereqs.rotating_disk import describe_rotating_disk
from gpustack.steps.renamed_host import describe_renamed_host


def list_warnings(snapshot: Snapshot) -> tuple[str, ...]:
    """List the warnings of a snapshot, in sentences."""
    cluster = View(snapshot, CLUSTER)
    sentences = (
        describe_lost_history(cluster),
        describe_short_history(cluster),
        describe_clients(snapshot),
        describe_missing_exceptions(snapshot),
        describe_missing_sources(cluster),
        *list_actions(snapshot),
        *list_by_host(snapshot, describe_renamed_host),
        *list_by_host(snapshot, describe_rotating_disk),
        *list_by_host(snapshot, describe_overwritten_runc),
        *list_by_host(snapshot, describe_owner_driver),
        *list_by_host(snapshot, describe_rdma_adapters),
        *list_by_host(snapshot, describe_missing_component),
        *describe_unoffered_gpus(cluster),
        *describe_unallowed_gpus(cluster),
    )
    return tuple(filter(None, sentences))


def list_actions(snapshot: Snapshot) -> list[str]:
    """List what charts will do on their own because values of the operator's turn it on."""
    inventory = snapshot.inventory
    charts = map_release_charts(inventory.spec)
    return [
        sentence
        for release, values in inventory.values.items()
        for sentence in describe_enabled_actions(f"values/{release}.yaml", charts[release], values)
    ]


def list_by_host(snapshot: Snapshot, describe: Callable[[View], str]) -> list[str]:
    """List what is said of hosts, each sentence once with its hosts."""
    hosts: dict[str, list[str]] = {}
    for host in snapshot.inventory.hosts:
        if sentence := describe(View(snapshot, host.name)):
            hosts.setdefault(sentence, []).append(host.name)
    return [f"{', '.join(names)}: {sentence}" for sentence, names in hosts.items()]
