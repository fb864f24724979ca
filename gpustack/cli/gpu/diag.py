"""`gpustack gpu diag`: DCGM's diagnostic, on nodes side by side."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.gpu.engines import NodesOption, open_engines, run_work
from gpustack.cli.gpu.prometheus import forward_to
from gpustack.errors import GpustackError
from gpustack.events import Event, Reporter

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.cli.locked_run import Run
    from gpustack.config.inventory import Inventory
    from gpustack.gpus.engines.engine import Engines


def diag(
    level: Annotated[
        int, typer.Option("-r", "--level", min=1, max=4, metavar="1-4", help="1: quick, no load; from 2: idle GPUs.")
    ] = 1,
    inventory: options.InventoryOption = None,
    node: NodesOption = None,
    yes: options.YesOption = False,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    output: options.OutputOption = options.Output.HUMAN,
    verbose: options.VerboseOption = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Run DCGM's diagnostic on the GPUs of nodes, and say which tests passed, failed and were skipped.

    From level 2 on it loads GPUs: only nodes whose GPUs are all free are tested, pods keep them free, and alerts of
    load are silenced. To skip is not to pass. Exits with 1 when a test failed, with 8 when a node is unknown."""
    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    taken, engines = open_engines(hosts, node, report)
    from gpustack.gpus.engines.diagnostic import TIMES, add_losses, judge_level
    from gpustack.gpus.engines.engine import compare_offers, only_free
    from gpustack.gpus.engines.works import diagnose
    from gpustack.report.codes import diagnostic_code
    from gpustack.report.render import show

    engines = only_free(engines) if level > 1 else engines
    done, replies, folder = run_work(
        hosts,
        taken,
        engines,
        diagnose(level),
        output.value,
        report,
        yes=yes,
        without_lock=without_lock,
        around=(lambda run: keep_free(run, taken, engines, TIMES[level])) if level > 1 else None,
    )
    answered = {one.node for one in replies}
    unread = {one.node: one.why for one in done.endings if one.node not in answered}
    found = replace(judge_level(level, replies, unread), seconds=done.seconds, stopped=done.stopped)
    if level > 1:
        found = add_losses(found, *compare_offers(engines, read_offers(hosts, report)))
    show(found, output.value, verbose=verbose, inventory=hosts, evidence=str(folder))
    raise typer.Exit(diagnostic_code(found))


@contextmanager
def keep_free(run: "Run", taken: "Snapshot", engines: "Engines", seconds: float) -> Iterator[Mapping[str, str]]:
    """Yields why not, by node."""
    from gpustack.proof.connect import open_pods
    from gpustack.proof.hold import Holder

    wanted = {engine.node: engine.gpus for engine in engines.found}
    holder = Holder(lambda: open_pods(taken, run.private), run.record, seconds, run.stop_reason)
    with silence_load(run, list(wanted), seconds), holder.hold(wanted) as refused:
        yield refused


@contextmanager
def silence_load(run: "Run", nodes: list[str], seconds: float) -> Iterator[None]:
    """Where that cannot be, it is noted, and the test goes on."""
    from gpustack.ask.transport.refusal import HostRefused
    from gpustack.proof.http import Web
    from gpustack.proof.silence import silence

    with ExitStack() as opened:
        try:
            address, number = opened.enter_context(forward_to("alertmanager", run.hosts, run.record))
            web = Web("Alertmanager", address, number)
            why = opened.enter_context(silence(web, nodes, seconds, run.lock.who))
        except (GpustackError, HostRefused) as error:
            why = str(error)
        if why:
            run.record(Event("note", "", f"alerts of load are not silenced: {why}"))
        yield


def read_offers(hosts: "Inventory", report: Reporter) -> Mapping[str, int]:
    """How many GPUs nodes offer now."""
    from gpustack.ask.probe import CLUSTER, FactUnavailable
    from gpustack.ask.view import View
    from gpustack.probes.proof import NODES

    try:
        return {one.name: one.allocatable for one in View(session.gather_all(hosts, report, [NODES]), CLUSTER)[NODES]}
    except (FactUnavailable, GpustackError):
        return {}
