"""The command `gpustack gpu diag`, which runs DCGM's diagnostic on nodes in parallel."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.gpu.engines import NodesOption, open_engines, run_work
from gpustack.errors import GpustackError
from gpustack.events import Event, Reporter
from gpustack.report.renderings import DIAGNOSTIC

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.config.inventory import Inventory
    from gpustack.engines.engine import Engines
    from gpustack.rollout.run import Run


def diag(
    level: Annotated[
        int,
        typer.Option(
            "-r",
            "--level",
            min=1,
            max=4,
            metavar="1-4",
            help="Level of the diagnostic; 1 is quick and adds no load, 2 to 4 load idle GPUs.",
        ),
    ] = 1,
    inventory: options.InventoryOption = None,
    node: NodesOption = None,
    yes: options.YesOption = False,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    output: Annotated[str, DIAGNOSTIC] = "human",
    verbose: options.VerboseOption = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Run DCGM's diagnostic on the GPUs of nodes, and list the tests that passed, failed and were skipped.

    Levels 2 to 4 load GPUs: only nodes whose GPUs are all free are tested, pods keep them free, and alerts of load are
    silenced. A skipped test does not count as passed. The command exits with 1 if a test failed, and with 8 if a node
    is unknown."""
    report = session.build_reporter(quiet=quiet)
    hosts = session.open_for_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    snapshot, engines = open_engines(hosts, node, report)
    from gpustack.engines.diagnostic import TIMES, add_losses, judge_level
    from gpustack.engines.engine import compare_offers, select_free
    from gpustack.engines.operations import diagnose

    engines = select_free(engines) if level > 1 else engines
    change, replies, folder = run_work(
        hosts,
        snapshot,
        engines,
        diagnose(level),
        output,
        report,
        yes=yes,
        without_lock=without_lock,
        guard=(lambda run: keep_free(run, snapshot, engines, TIMES[level])) if level > 1 else None,
    )
    answered_nodes = {reply.node for reply in replies}
    unread = {ending.node: ending.reason for ending in change.endings if ending.node not in answered_nodes}
    diagnostic = replace(judge_level(level, replies, unread), seconds=change.seconds, stop_reason=change.stop_reason)
    if level > 1:
        diagnostic = add_losses(diagnostic, *compare_offers(engines, read_offers(hosts, report)))
    session.finish_command(diagnostic, output, verbose=verbose, inventory=hosts, evidence=str(folder))


@contextmanager
def keep_free(run: "Run", snapshot: "Snapshot", engines: "Engines", seconds: float) -> Iterator[Mapping[str, str]]:
    """Keep the GPUs of the engines free with pods. Yield the reasons of nodes where that failed."""
    from gpustack.proof.connect import open_pods
    from gpustack.proof.hold import hold_gpus
    from gpustack.proof.pod_run import PodRun

    gpu_counts = {engine.node: engine.gpus for engine in engines.members}
    pod_run = PodRun(lambda: open_pods(snapshot, run.private), run.record, run.find_stop_reason)
    with silence_load(run, list(gpu_counts), seconds), hold_gpus(pod_run, gpu_counts, seconds) as refusals:
        yield refusals


@contextmanager
def silence_load(run: "Run", nodes: list[str], seconds: float) -> Iterator[None]:
    """Silence alerts of load on these nodes. A failure is recorded as a note, and raises no error."""
    from gpustack.ask.transport.refusal import HostRefused
    from gpustack.proof.connect import open_part
    from gpustack.proof.http import Web
    from gpustack.proof.silence import silence

    with ExitStack() as stack:
        try:
            address, number = stack.enter_context(open_part("alertmanager", run.hosts, run.record))
            web = Web("Alertmanager", address, number)
            reason = stack.enter_context(silence(web, nodes, seconds, run.lock.holder))
        except (GpustackError, HostRefused) as error:
            reason = str(error)
        if reason:
            run.record(Event("note", "", f"alerts of load are not silenced: {reason}"))
        yield


def read_offers(hosts: "Inventory", report: Reporter) -> Mapping[str, int]:
    """Read the number of GPUs that each node offers. Return an empty mapping without an answer."""
    from gpustack.ask.probe import CLUSTER, FactUnavailable
    from gpustack.ask.view import View
    from gpustack.probes.proof import NODES

    try:
        return {
            node.name: node.allocatable for node in View(session.gather_all(hosts, report, [NODES]), CLUSTER)[NODES]
        }
    except (FactUnavailable, GpustackError):
        return {}
