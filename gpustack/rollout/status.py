"""The status of a cluster on one screen: hosts, nodes, versions, GPUs, firing alerts and the last run."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.exit_status import ExitStatus, select_status
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, VERSION
from gpustack.probes.monitoring.alerting import RULE_GROUPS
from gpustack.rollout.evidence import RUN, locate_runs
from gpustack.steps.gpu.count import count_gpus
from gpustack.steps.gpu.hosts import map_gpu_nodes
from gpustack.steps.own_node import find_node

Value = TypeVar("Value")
PROBES: tuple[Probe[Any], ...] = (IDENTITY, NODES, VERSION, GPU_DEVICES, GPU_DRIVER, GPU_NODES, RULE_GROUPS)
ALWAYS_FIRING = {"Watchdog", "InfoInhibitor"}
"""Alerts of kube-prometheus-stack that fire by design."""


@dataclass(frozen=True)
class HostStatus:
    """Hold what is known of a host; a value is None where it is unknown or does not apply. `unreachable` is None for a
    host that was not contacted. `node` is empty for a host that is no node. `unready` says why the node is not Ready.
    `gpus` counts the devices for Kubernetes, `allocatable` what pods can be given, with the instances of MIG."""

    name: str
    unreachable: bool | None
    node: str | None = None
    ready: bool | None = None
    unready: str = ""
    kubelet: str | None = None
    driver: str | None = None
    gpus: int | None = None
    allocatable: int | None = None


@dataclass(frozen=True)
class LastRun:
    """Describe the last run of this machine that took locks, whatever its inventory was."""

    verb: str
    time: datetime
    directory: Path


@dataclass(frozen=True)
class Status:
    """Hold the status. `kubernetes` is the version of the API; `firing_alerts` are names, None where they are unknown
    or the spec has no monitoring. `unknown_reasons` say what was not seen."""

    snapshot: Snapshot
    hosts: tuple[HostStatus, ...]
    kubernetes: str | None
    firing_alerts: tuple[str, ...] | None
    unknown_reasons: tuple[str, ...]
    last_run: LastRun | None

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(unknown=self.unknown_reasons)


class Reader:
    """Read facts, and keep the reasons for which some are unknown."""

    def __init__(self) -> None:
        self.labels_by_reason: dict[str, list[str]] = {}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return each reason once, behind all that is unknown for it."""
        return tuple(f"{', '.join(labels)}: {reason}" for reason, labels in self.labels_by_reason.items())

    def read(self, label: str, compute: Callable[[], Value]) -> Value | None:
        """Return the value, or None where a fact of it is unknown."""
        try:
            return compute()
        except FactUnavailable as error:
            self.add_reason(label, str(error))
            return None

    def add_reason(self, label: str, reason: str) -> None:
        self.labels_by_reason.setdefault(reason, []).append(label)


def build_status(snapshot: Snapshot, last_run: LastRun | None = None) -> Status:
    reader, view, spec = Reader(), View(snapshot, CLUSTER), snapshot.inventory.spec
    has_cluster = any(not host.standalone for host in snapshot.inventory.hosts)
    kubernetes = reader.read("Kubernetes", lambda: view[VERSION]) if has_cluster else None
    hosts = tuple(build_host_status(view, host.name, reader) for host in snapshot.inventory.hosts)
    has_alerts = has_cluster and spec.monitoring.enabled
    alerts = reader.read("alerts", lambda: list_firing_alerts(view)) if has_alerts else None
    return Status(snapshot, hosts, kubernetes, alerts, reader.reasons, last_run)


def build_host_status(view: View, name: str, reader: Reader) -> HostStatus:
    host_view = view.select_host(name)
    if not host_view.reached:
        reach = view.snapshot.reach.get(name)
        reader.add_reason(name, reach.reason if reach else "it was not contacted")
        return HostStatus(name, unreachable=True if reach else None)
    gpus = reader.read(f"GPUs of {name}", lambda: count_gpus(host_view))
    driver = reader.read(f"driver of {name}", lambda: host_view[GPU_DRIVER].module) if gpus else None
    if host_view.host.standalone:
        return HostStatus(name, unreachable=False, driver=driver, gpus=gpus)
    node = reader.read(f"node of {name}", lambda: (find_node(host_view),))
    known_node = node[0] if node else None
    return HostStatus(
        name,
        unreachable=False,
        node=None if node is None else known_node.name if known_node else "",
        ready=known_node.ready if known_node else None,
        unready=known_node.reason if known_node else "",
        kubelet=known_node.kubelet if known_node else None,
        driver=driver,
        gpus=gpus,
        allocatable=reader.read(f"allocatable GPUs of {name}", lambda: count_allocatable(view, name)) if gpus else None,
    )


def count_allocatable(view: View, host: str) -> int:
    """Count the GPUs and instances of MIG that pods can be given on a host. Raise FactUnavailable where it is
    unknown."""
    node = map_gpu_nodes(view).get(host)
    return node.allocatable + sum(node.slices.values()) if node else 0


def list_firing_alerts(view: View) -> tuple[str, ...]:
    """List the alerts that fire. Raise FactUnavailable where Prometheus has no alert, or the recording has no states
    of alerts."""
    groups = [group.firing_alerts for group in view[RULE_GROUPS] if group.firing_alerts is not None]
    if not groups:
        raise FactUnavailable("Prometheus named no alert with its state")
    return tuple(sorted({name for names in groups for name in names} - ALWAYS_FIRING))


def find_last_run() -> LastRun | None:
    """Find the last run that this machine keeps. Runs of all inventories are in one folder."""
    base = locate_runs()
    names = sorted(path.name for path in base.iterdir() if RUN.fullmatch(path.name)) if base.is_dir() else []
    if not names:
        return None
    time, verb, _ = names[-1].split("-")
    return LastRun(verb, datetime.strptime(time, "%Y%m%dT%H%M%S").replace(tzinfo=UTC), base / names[-1])
