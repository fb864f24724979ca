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
    unproven: Annotated[
        bool, typer.Option("--unproven", help="Uncordon a node as well whose GPUs are not proven.")
    ] = False,
    session: LockSession,
) -> "UncordonResult":
    """Uncordon a node that gpustack cordoned. One that a person cordoned stays cordoned without --foreign; so does one
    whose GPUs were not proven since the last boot or act of `remediate` without --unproven."""
    hosts = session.open_for_change()
    from gpustack.nodes.drain_plan import gather_node
    from gpustack.nodes.node_host import require_node
    from gpustack.nodes.uncordon import UncordonResult, refuse_foreign_cordon, uncordon_node
    from gpustack.probes.kubernetes.node_records import NODE_RECORDS
    from gpustack.remediation.node_return import RETURN_PROBES, refuse_unproven_node

    options = [word for word, is_set in (("--foreign", foreign), ("--unproven", unproven)) if is_set]
    words = ["node", "uncordon", node, *options]
    snapshot = gather_node(hosts, node, session.report, RETURN_PROBES)

    def read(current: "Snapshot") -> "NodeRecord":
        record = require_node(current, node)
        if not foreign:
            refuse_foreign_cordon(current, record)
        if record.cordoned and not unproven:
            refuse_unproven_node(snapshot, record)
        return record

    if not (record := read(snapshot)).cordoned:
        return UncordonResult(record, changed=False)
    require_agreement(session, snapshot, f"Uncordon {node}?", words)
    with open_node_run(session, snapshot, words) as (run, writer):
        return uncordon_node(
            writer, node, lambda: read(gather_node(hosts, node, run.record, [NODE_RECORDS], [writer.via.name]))
        )
