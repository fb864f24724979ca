"""Judge by the records which traces of gpustack on a host a reset removes, by step, and which stay."""

from collections.abc import Iterator, Mapping

from gpustack.probes.host.declaration import read_declaration
from gpustack.probes.host.owned_resources import RESOURCE_PROBES, Trace
from gpustack.rollout.host_ownership import SILENT_KINDS, Agreement, HostOwnership

TracesByStep = Mapping[str, tuple[Trace, ...]]
# Names that nobody else gives by accident: chains and tables with gpustack's prefix, rules with its comment.
OWN_PREFIXES = ("chains GPUSTACK-", "table inet gpustack_", "chain ", "rules of ufw")
# Says that the network of the pods is a source of firewalld's zone `trusted` because gpustack added it.
SOURCE_NOTE = "/etc/gpustack-cluster/firewalld-source"
# Of the cluster on the host.
CLUSTER_KINDS = {"link", "route", "chains", "table", "containers", "unit"}


def list_traces(traces_by_step: TracesByStep, ownership: HostOwnership) -> tuple[tuple[str, tuple[Trace, ...]], ...]:
    """List what is removed, by step, the last step first."""
    removable_traces = {
        step: [trace for trace in traces if may_remove(trace, ownership)] for step, traces in traces_by_step.items()
    }
    file_names = [
        file_trace.name for traces in removable_traces.values() for file_trace in traces if file_trace.kind == "file"
    ]
    for agreement in ownership.agreements:
        if agreement.kind in {"folder", "link"} or is_named(agreement.path, file_names):
            continue
        removable_traces.setdefault(find_step(agreement.path), []).append(build_trace(agreement))
    return tuple((step, tuple(removable_traces[step])) for step in RESOURCE_PROBES if removable_traces.get(step))


def may_remove(trace: Trace, ownership: HostOwnership) -> bool:
    """Tell whether a trace may be removed."""
    if trace.kind == "file":
        return ownership.has_agreed(trace.name)
    if trace.kind == "source":
        return ownership.has_agreed(SOURCE_NOTE)
    if f"{trace.kind} {trace.name}".startswith(OWN_PREFIXES):
        return True
    if f"{trace.kind} {trace.name}".startswith("unit kubelet"):
        return ownership.cluster or not ownership.foreign_data
    return trace.kind in CLUSTER_KINDS and ownership.cluster


def is_named(path: str, names: list[str]) -> bool:
    return any(path == name or path.startswith(f"{name}/") for name in names)


def build_trace(agreement: Agreement) -> Trace:
    kind = "change" if agreement.action == "restore" else "file"
    return Trace(kind, f"of {agreement.path}" if kind == "change" else agreement.path)


def find_step(path: str) -> str:
    """Find the step whose reset restores a path, the last one first."""
    for step in RESOURCE_PROBES:
        declaration = read_declaration().get(step, {})
        if any(path in paths for kind, paths in declaration.items() if kind not in SILENT_KINDS - {"store"}):
            return step
    return "containerd" if path.startswith("/etc/containerd/") else "prereqs"


def list_kept_resources(traces_by_step: TracesByStep, ownership: HostOwnership) -> Iterator[str]:
    """Describe what stays, with the reasons."""
    explained_paths = {path for path, _ in ownership.kept_resources} | set(ownership.foreign_data)
    yield from (f"{path}: {reason}" for path, reason in ownership.kept_resources)
    for traces in traces_by_step.values():
        for trace in traces:
            if (
                may_remove(trace, ownership)
                or is_named(trace.name, [*explained_paths])
                or any(is_named(path, [trace.name]) for path in explained_paths)
            ):
                continue
            if trace.kind in {"file", "source"}:
                is_recorded = any(agreement.path == trace.name for agreement in ownership.agreements)
                yield f"{trace}: gpustack has no record of {'what is in it' if is_recorded else 'it'}"
            elif trace.kind in CLUSTER_KINDS:
                yield f"{trace}: gpustack has no record of the cluster on this host"
