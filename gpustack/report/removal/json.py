"""A reset as one JSON document: what it removed and what remains. Within a version fields are only ever added."""

from typing import Any, Literal

from pydantic import Field

from gpustack.report.document import render_result
from gpustack.report.renderings import RESET
from gpustack.report.schema import Document, PlaybookRun, Seconds, Shape, TextOrNull, take
from gpustack.rollout.removal import HostRemoval
from gpustack.rollout.reset import ResetOutcome


class Host(Shape):
    """Describe a host before and after the reset. `reason` says why its cluster is not gpustack's to remove, and is
    null when it is."""

    name: str
    cluster: TextOrNull
    reason: TextOrNull = take("foreign")
    pod_names: list[str] | None = take("pods")
    traces: dict[str, list[str]]
    remaining_traces: dict[str, list[str]]
    unknown_traces: list[str] = take("unknown")
    kept_resources: list[str]


class ResetDocument(Document):
    """Describe the result of `gpustack reset`."""

    kind: Literal["gpustack/reset/v1"] = Field("gpustack/reset/v1", alias="schema")
    seconds: Seconds
    hosts: list[Host]
    unreachable_hosts: list[str] = take("after", "unreachable_hosts")
    playbook_run: PlaybookRun | None
    stop_reason: TextOrNull
    evidence_directory: TextOrNull
    next: TextOrNull = take("next_command")


def render_json(outcome: ResetOutcome, evidence: str = "") -> str:
    after = {host_after.host: host_after for host_after in outcome.after.hosts}
    return render_result(
        RESET,
        ResetDocument,
        outcome,
        outcome.before.snapshot.inventory,
        hosts=[build_host(before, after.get(before.host, before)) for before in outcome.before.hosts],
        evidence_directory=evidence,
    )


def build_host(before: HostRemoval, after: HostRemoval) -> dict[str, Any]:
    fields = {
        "name": before.host,
        "traces": list_traces(before),
        "remaining_traces": list_traces(after),
        "kept_resources": after.kept_resources,
    }
    return {**vars(before), **fields, "unknown": after.unknown}


def list_traces(host_removal: HostRemoval) -> dict[str, list[str]]:
    traces_by_step = {step: [str(trace) for trace in traces] for step, traces in host_removal.traces}
    other_traces = {
        "node": [host_removal.node] if host_removal.node else [],
        "holds": list(host_removal.holds),
        "packages": list(host_removal.packages),
    }
    return traces_by_step | {name: names for name, names in other_traces.items() if names}
