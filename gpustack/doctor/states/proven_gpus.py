"""GPUs of a node that are not those of its last proof: one was swapped, added, or is heard of no more."""

from collections.abc import Iterator

from gpustack.ask.judge import format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.gpu.dcgm import SERIES
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, parse_proven_gpus


def observe_other_gpus(view: View) -> Iterator[AbnormalState]:
    """List nodes whose exporter tells of other GPUs than those that `gpustack prove` recorded. A node without a record,
    or of which no GPU is heard, says nothing."""
    uuids_by_node: dict[str, set[str]] = {}
    for gpu in view[SERIES]:
        uuids_by_node.setdefault(gpu.host, set()).add(gpu.uuid)
    for node in view[NODE_RECORDS]:
        record, uuids = parse_proven_gpus(node.proof_record), uuids_by_node.get(node.name)
        if not record or not uuids or uuids == record.uuids:
            continue
        reasons = [
            f"{label} {format_value(sorted(differing_uuids))}"
            for label, differing_uuids in (
                ("not proven:", record.find_unproven(uuids)),
                ("no longer heard of:", record.find_missing(uuids)),
            )
            if differing_uuids
        ]
        host = locate_node(view, node.name)
        yield AbnormalState(
            "gpus-differ",
            "risk",
            (host,),
            (f"GPUs of node {node.name}",),
            f"{'; '.join(reasons)}; the last proof was at {record.moment}",
            Command("gpustack", "prove", *(() if host == CLUSTER else ("--limit", host))),
        )


OBSERVERS = (Observer("other-gpus", "GPUs that were not proven", observe_other_gpus, (NODE_RECORDS, SERIES)),)
