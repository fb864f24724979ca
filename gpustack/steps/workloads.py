"""Comparison of Deployments and DaemonSets that should run with those that do."""

from collections.abc import Iterable, Mapping

from gpustack.ask.judge import Result, format_value
from gpustack.probes.kubernetes.nodes import add_reason
from gpustack.probes.kubernetes.workloads import Workload

Workloads = Mapping[str, Workload]


def find_stopped_deployment(name: str, deployments: Workloads) -> Result | None:
    workload = deployments.get(name)
    if workload is None or not workload.desired_pods:
        return Result(name, "running", "scaled to 0" if workload else "nothing")
    return None if workload.runs else Result(name, "running", add_reason("not running", workload.refusal), passing=True)


def find_stopped_workloads(
    subject: str, names: Iterable[str], deployments: Workloads, daemon_sets: Workloads
) -> Result | None:
    """Find which of the named workloads are missing, scaled to 0 or not running, in this order."""
    expected_names, workloads = list(names), {**deployments, **daemon_sets}
    if missing_names := [name for name in expected_names if name not in workloads]:
        return Result(subject, "all present", f"no {format_value(missing_names)}")
    # A DaemonSet that nobody has looked at yet wants no pod either: that one is on its way.
    if idle_names := [name for name in expected_names if name in deployments and not deployments[name].desired_pods]:
        return Result(subject, "all running", f"{format_value(idle_names)} scaled to 0")
    late_workloads = {name: workloads[name] for name in expected_names if not workloads[name].runs}
    failures = [
        add_reason(f"{name} {workload.ready} of {workload.desired_pods}", workload.refusal)
        for name, workload in late_workloads.items()
    ]
    return Result(subject, "all running", format_value(failures), passing=True) if failures else None
