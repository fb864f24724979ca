"""The status of a cluster for people."""

from collections.abc import Iterator

from gpustack.command import Prose
from gpustack.events import format_count
from gpustack.report.findings import print_command, print_text
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.rollout.next_command import build_command
from gpustack.rollout.status import HostStatus, Status
from gpustack.times import format_duration, format_minute

HEADINGS = ("HOST", "NODE", "READY", "KUBELET", "DRIVER", "GPUS", "ALLOCATABLE")
UNKNOWN = "unknown"


def render_human(console: Terminal, status: Status) -> None:
    console.hide_secrets(status.snapshot.inventory)
    hosts = format_count(len(status.hosts), "host")
    print_text(console, f"{hosts}, {format_duration(status.snapshot.seconds)}")
    console.print(draw_table(console, HEADINGS, map(format_row, status.hosts)))
    for line, style in list_lines(status):
        print_text(console, line, style)
    for host in status.hosts:
        if host.ready is False:
            print_text(console, f"{host.name}: not Ready: {host.unready}", "red")
    for reason in status.unknown_reasons:
        print_text(console, f"unknown  {reason}", "yellow")
    if status.unknown_reasons or status.firing_alerts or any(host.ready is False for host in status.hosts):
        print_command(console, Prose("next: {}", build_command(status.snapshot.inventory, "doctor")), 0)


def format_row(host: HostStatus) -> tuple[str, ...]:
    if host.unreachable is not False:
        return (host.name, "unreachable" if host.unreachable else "not tried", *[UNKNOWN] * 5)
    absent = UNKNOWN if host.node is None else "-"
    ready = absent if host.ready is None else "yes" if host.ready else "no"
    gpus, driver, allocatable = (
        UNKNOWN if value is None else str(value or fallback)
        for value, fallback in ((host.gpus, 0), (host.driver, "none"), (host.allocatable, 0))
    )
    if host.gpus == 0:
        driver = allocatable = "-"
    return (host.name, host.node or absent, ready, host.kubelet or absent, driver, gpus, allocatable)


def list_lines(status: Status) -> Iterator[tuple[str, str]]:
    """List the lines about the whole cluster, each with its style."""
    if status.kubernetes:
        yield f"\nKubernetes {status.kubernetes}", ""
    if status.firing_alerts is not None:
        names = ", ".join(status.firing_alerts)
        yield (f"firing: {names}", "red") if names else ("no alert is firing", "green")
    if run := status.last_run:
        time = format_minute(run.time.timestamp())
        yield f"last run of this machine: gpustack {run.verb}, {time} UTC, {run.directory}", ""
