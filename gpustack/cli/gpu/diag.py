"""The command `gpustack gpu diag`, which runs DCGM's diagnostic on nodes in parallel."""

from dataclasses import replace
from typing import Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.gpu.engines import NodesOption, open_engines, run_work
from gpustack.report.renderings import DIAGNOSTIC


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
    from gpustack.proof.hold import keep_free
    from gpustack.proof.inventory import gather_offers

    engines = select_free(engines) if level > 1 else engines
    gpu_counts = {engine.node: engine.gpus for engine in engines.members}
    change, replies, folder = run_work(
        hosts,
        snapshot,
        engines,
        diagnose(level),
        output,
        report,
        yes=yes,
        without_lock=without_lock,
        guard=(lambda run: keep_free(run, snapshot, gpu_counts, TIMES[level])) if level > 1 else None,
    )
    answered_nodes = {reply.node for reply in replies}
    unread = {ending.node: ending.reason for ending in change.endings if ending.node not in answered_nodes}
    diagnostic = replace(judge_level(level, replies, unread), seconds=change.seconds, stop_reason=change.stop_reason)
    if level > 1:
        diagnostic = add_losses(diagnostic, *compare_offers(engines, gather_offers(hosts, report)))
    session.finish_command(diagnostic, output, verbose=verbose, inventory=hosts, evidence=str(folder))
