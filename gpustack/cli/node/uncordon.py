"""The command `gpustack node uncordon`, which returns a node to service."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.node.options import NodeArgument, open_node_run, require_agreement
from gpustack.cli.option_groups import LockSession

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.nodes.uncordon import UncordonResult
    from gpustack.probes.kubernetes.node_records import NodeRecord


def uncordon(
    *,
    node: NodeArgument,
    foreign: Annotated[
        bool, typer.Option("--foreign", help="Uncordon a node as well that somebody else cordoned.")
    ] = False,
    session: LockSession,
) -> "UncordonResult":
    """Uncordon a node that gpustack cordoned. One that a person cordoned stays cordoned without --foreign."""
    hosts = session.open_for_change()
    from gpustack.events import Event
    from gpustack.nodes.drain_plan import gather_node
    from gpustack.nodes.node_host import require_node
    from gpustack.nodes.uncordon import UncordonResult, refuse_foreign_cordon, uncordon_node
    from gpustack.probes.host.system import IDENTITY
    from gpustack.probes.kubernetes.node_records import NODE_RECORDS
    from gpustack.remediation.act_record import find_unproven_act

    words = ["node", "uncordon", node, *(["--foreign"] if foreign else [])]
    snapshot = gather_node(hosts, node, session.report, [NODE_RECORDS, IDENTITY])

    def read(snapshot: "Snapshot") -> "NodeRecord":
        record = require_node(snapshot, node)
        if not foreign:
            refuse_foreign_cordon(snapshot, record)
        return record

    if not (record := read(snapshot)).cordoned:
        return UncordonResult(record, changed=False)
    if act := find_unproven_act(record):
        text = f"its GPUs were not proven since the {act.rung}: gpu diag and prove, both with --cordoned, come first"
        session.report(Event("note", node, text))
    require_agreement(session, snapshot, f"Uncordon {node}?", words)
    with open_node_run(session, snapshot, words) as (run, writer):
        return uncordon_node(
            writer, node, lambda: read(gather_node(hosts, node, run.record, [NODE_RECORDS], [writer.via.name]))
        )
