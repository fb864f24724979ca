"""Judge by the records which traces of gpustack on a host a reset removes, by step, and which stay."""

from collections.abc import Iterator, Mapping

from gpustack.probes.host.declaration import read_declaration
from gpustack.probes.host.owned_resources import OURS, Trace
from gpustack.rollout.owned_things import UNSPOKEN, Agreement, HostOwnership

Found = Mapping[str, tuple[Trace, ...]]
# Names that nobody else gives by accident: chains and tables with our prefix, rules with our comment.
MARKED = ("chains GPUSTACK-", "table inet gpustack_metrics", "chain ", "rules of ufw")
# Says that the network of the pods is a source of firewalld's zone `trusted` because gpustack added it.
SOURCE_NOTE = "/etc/gpustack-cluster/firewalld-source"
# Of the cluster on the host.
OF_CLUSTER = {"link", "route", "chains", "table", "containers", "unit"}


def list_traces(found: Found, owned: HostOwnership) -> tuple[tuple[str, tuple[Trace, ...]], ...]:
    """List what goes, by step, the last step first."""
    shown = {step: [one for one in traces if goes(one, owned)] for step, traces in found.items()}
    named = [one.name for traces in shown.values() for one in traces if one.kind == "file"]
    for agreement in owned.agreements:
        if agreement.kind in {"folder", "link"} or is_named(agreement.path, named):
            continue
        shown.setdefault(find_step(agreement.path), []).append(build_trace(agreement))
    return tuple((step, tuple(shown[step])) for step in OURS if shown.get(step))


def goes(trace: Trace, owned: HostOwnership) -> bool:
    """Tell whether a thing that was found may go."""
    if trace.kind == "file":
        return owned.has_agreed(trace.name)
    if trace.kind == "source":
        return owned.has_agreed(SOURCE_NOTE)
    if f"{trace.kind} {trace.name}".startswith(MARKED):
        return True
    if f"{trace.kind} {trace.name}".startswith("unit kubelet"):
        return owned.cluster or not owned.others
    return trace.kind in OF_CLUSTER and owned.cluster


def is_named(path: str, names: list[str]) -> bool:
    return any(path == name or path.startswith(f"{name}/") for name in names)


def build_trace(agreement: Agreement) -> Trace:
    kind = "change" if agreement.action == "restore" else "file"
    return Trace(kind, f"of {agreement.path}" if kind == "change" else agreement.path)


def find_step(path: str) -> str:
    """Find the step whose reset takes a path back, the last one first."""
    for step in OURS:
        declared = read_declaration().get(step, {})
        if any(path in paths for kind, paths in declared.items() if kind not in UNSPOKEN - {"store"}):
            return step
    return "containerd" if path.startswith("/etc/containerd/") else "prereqs"


def list_left(found: Found, owned: HostOwnership) -> Iterator[str]:
    """Describe what stays, and why."""
    explained = {path for path, _ in owned.left} | set(owned.others)
    yield from (f"{path}: {why}" for path, why in owned.left)
    for traces in found.values():
        for one in traces:
            if (
                goes(one, owned)
                or is_named(one.name, [*explained])
                or any(is_named(path, [one.name]) for path in explained)
            ):
                continue
            if one.kind in {"file", "source"}:
                recorded = any(agreement.path == one.name for agreement in owned.agreements)
                yield f"{one}: gpustack has no record of {'what is in it' if recorded else 'it'}"
            elif one.kind in OF_CLUSTER:
                yield f"{one}: gpustack has no record of the cluster on this host"
