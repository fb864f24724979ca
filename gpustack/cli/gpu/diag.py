"""The command `gpustack gpu diag`, which runs DCGM's diagnostic on nodes in parallel."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.engines import EngineSession, open_engines, run_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpustack.ask.snapshot import Snapshot
    from gpustack.engines.diagnostic import Diagnostic


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
    *,
    verbose: options.VerboseOption = False,
    cordoned_nodes: options.CordonedOption = False,
    session: EngineSession,
) -> "Diagnostic":
    """Run DCGM's diagnostic on the GPUs of nodes, and list the tests that passed, failed and were skipped.

    It needs a DCGM host engine, which a default installation does not have: gpu.dcgm standalone in the spec adds one.
    Levels 2 to 4 load GPUs: only nodes whose GPUs are all free are tested, pods keep them free, and the alerts
    that the tests cause are silenced. A skipped test does not count as passed. The command exits with 1 if a test
    failed, and with 8 if a node is unknown."""
    hosts = session.open_for_change()
    snapshot, engines = open_engines(session, hosts, cordoned=cordoned_nodes)
    from gpustack.engines.diagnostic import TIMES, add_losses, judge_level
    from gpustack.engines.engine import compare_offers, select_free
    from gpustack.engines.operations import diagnose
    from gpustack.proof.hold import keep_free
    from gpustack.proof.inventory import gather_offers

    engines = select_free(engines) if level > 1 else engines
    gpu_counts = {engine.node: engine.gpus for engine in engines.members}
    change, replies = run_work(
        session,
        snapshot,
        engines,
        diagnose(level),
        guard=(lambda run: keep_free(run, snapshot, gpu_counts, TIMES[level], cordoned=cordoned_nodes))
        if level > 1
        else None,
    )
    answered_nodes = {reply.node for reply in replies}
    missing_reasons = {ending.node: ending.reason for ending in change.endings if ending.node not in answered_nodes}
    diagnostic = replace(
        judge_level(level, replies, missing_reasons), seconds=change.seconds, stop_reason=change.stop_reason
    )
    if level > 1:
        diagnostic = add_losses(diagnostic, *compare_offers(engines, gather_offers(hosts, session.report)))
    record_diagnostic(session, snapshot, () if diagnostic.stop_reason else diagnostic.passed_nodes)
    return diagnostic


def record_diagnostic(session: EngineSession, snapshot: "Snapshot", passed_nodes: "Sequence[str]") -> None:
    """Record in the gates of nodes whose GPUs were reset that the diagnostic has passed: a proof opens them now."""
    from gpustack.ask.probe import CLUSTER
    from gpustack.ask.view import View
    from gpustack.cli.node.options import open_node_run
    from gpustack.events import Event
    from gpustack.nodes.drain_plan import read_node_record
    from gpustack.nodes.gate import build_gate_command
    from gpustack.probes.kubernetes.gate import PASSED_DIAGNOSTIC, RESET
    from gpustack.probes.proof import NODES

    view = View(snapshot, CLUSTER)
    gates = {node.name: node.gate for node in view[NODES]} if view.has_fact(NODES) else {}
    for name in (node for node in passed_nodes if gates.get(node) == RESET):
        with open_node_run(session, snapshot, ["gpu", "diag"]) as (run, writer):
            read = partial(read_node_record, snapshot.inventory, name, session.report, writer.via)
            writer.change_node(name, read, lambda node: build_gate_command(node, PASSED_DIAGNOSTIC))
            run.record(Event("changed", name, "the diagnostic has passed since the reset: a proof opens the gate"))
