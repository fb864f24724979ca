"""Nodes whose host has booted since the last proof of their GPUs, as after a power cut or a reboot by hand."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.host.recent_changes import TIMES
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, parse_proven_gpus
from gpustack.vocabulary.proof_leases import MARGIN_SECONDS


def observe_unproven_boots(view: View) -> Iterator[AbnormalState]:
    """List nodes that were proven before the last boot of their host. A node without a record of a proof says nothing,
    and neither does a host whose boot is unknown; one behind the gate has a state of its own."""
    for node in view[NODE_RECORDS]:
        record, host = parse_proven_gpus(node.proof_record), locate_node(view, node.name)
        host_view = view.select_host(host) if host != CLUSTER else None
        if not record or node.gate or host_view is None or not host_view.has_fact(TIMES):
            continue
        times = host_view[TIMES]
        if times.booted_at is None:
            continue
        booted_at = datetime.fromtimestamp(times.booted_at, UTC)
        if booted_at - record.proven_at > timedelta(seconds=MARGIN_SECONDS):
            yield AbnormalState(
                "boot-unproven",
                "note",
                (host,),
                (f"node {node.name}",),
                f"booted at {booted_at:%Y-%m-%d %H:%M} UTC, after the last proof of its GPUs at {record.moment}",
                Command("gpustack", "prove", "--limit", host),
                onset=booted_at,
            )


OBSERVERS = (Observer("unproven-boots", "Boots since the last proof", observe_unproven_boots, (NODE_RECORDS, TIMES)),)
