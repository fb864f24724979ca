"""Dashboard of capacity: GPUs that nodes offer, that pods hold and wait for, and that do nothing. Requested, held and
active GPUs are never one number."""

from gpustack.vocabulary import usage_series as series
from scripts.values.grafana import (
    Panel,
    build_heading,
    build_lines,
    build_number,
    build_query,
    build_table,
    build_variable,
    render_dashboard,
)

UNIT = f"* on (node, resource) group_left () {series.UNIT}"
NODE_MATCHER = 'node=~"$node"'
NAMESPACE_MATCHERS = f'{NODE_MATCHER},namespace=~"$namespace"'
OFFERED_GPUS = f"{series.OFFERED_UNITS}{{{NODE_MATCHER}}} {UNIT}"
ALLOCATED_GPUS = f"{series.ALLOCATED_UNITS}{{{NAMESPACE_MATCHERS}}} {UNIT}"
ALLOCATED_UNITS = f"sum by (node, resource) ({series.ALLOCATED_UNITS}{{{NODE_MATCHER}}})"
FREE_UNITS = (
    f"({series.OFFERED_UNITS}{{{NODE_MATCHER}}} - ({ALLOCATED_UNITS} or {series.OFFERED_UNITS}{{{NODE_MATCHER}}} * 0))"
)
"""Units of a resource, by node."""
NO_RULES = "the recorded series of usage are not there"
NO_POD_NAMES = "no exporter names a pod"


def build_current_panels() -> list[Panel]:
    waiting_seconds, scheduled_count = (
        f"sum(sum_over_time({name}[1d]))" for name in (series.WAITED_SECONDS, series.SCHEDULED_PODS)
    )
    return [
        build_number(
            "GPUs offered",
            "none",
            f"sum({OFFERED_GPUS})",
            description="To pods, by nodes. MIG instances and shares count as their part of a GPU.",
            empty=NO_RULES,
        ),
        build_number(
            "Allocated",
            "none",
            f"sum({ALLOCATED_GPUS}) or sum({OFFERED_GPUS}) * 0",
            description="From the moment a pod has a node until it has ended: what a bill counts.",
            empty=NO_RULES,
        ),
        build_number(
            "Free",
            "none",
            f"sum({FREE_UNITS} {UNIT})",
            description="Offered, and no pod's. Whether a waiting pod can use them depends on where they are.",
            empty=NO_RULES,
        ),
        build_number(
            "Queued",
            "none",
            f'sum({series.QUEUED_UNITS}{{namespace=~"$namespace"}}) or sum({OFFERED_GPUS}) * 0',
            description="GPUs, instances and shares that pods ask for and no node has been given to yet.",
            empty=NO_RULES,
            steps={"orange": 1},
        ),
        build_number(
            "Idle",
            "none",
            f"sum({series.IDLE_UNITS}{{{NAMESPACE_MATCHERS}}})",
            description="GPUs and instances of pods whose engine is busy for less than 5 % of the time.",
            empty=NO_POD_NAMES,
        ),
        build_number(
            "Wait for a node",
            "s",
            f"{waiting_seconds} / ({scheduled_count} > 0)",
            description="From a pod's creation: mean of those that got a node in the last day, in all namespaces.",
            empty="no pod got a GPU in the last day",
        ),
    ]


def build_history_panels() -> list[Panel]:
    return [
        build_lines(
            "GPUs",
            "none",
            build_query(f"sum({OFFERED_GPUS})", "offered"),
            build_query(f"sum({ALLOCATED_GPUS})", "allocated"),
            description="Below the first and above the second line is what nobody had.",
            empty=NO_RULES,
        ),
        build_lines(
            "GPUs and instances of pods",
            "none",
            build_query(f"sum({series.ATTRIBUTED_UNITS}{{{NAMESPACE_MATCHERS}}})", "attributed"),
            build_query(f"sum({series.ACTIVE_UNITS}{{{NAMESPACE_MATCHERS}}})", "active"),
            build_query(f"sum({series.IDLE_UNITS}{{{NAMESPACE_MATCHERS}}})", "idle"),
            description="As exporters see them. Active is the time in which the engine was busy, idle is less than "
            "5 % of it. Of shared GPUs without profiling fields, active is what the pods' own processes use.",
            empty=NO_POD_NAMES,
        ),
        build_lines(
            "Allocated by namespace",
            "none",
            build_query(f"sum by (namespace) ({ALLOCATED_GPUS})", "{{namespace}}"),
            description="GPUs that pods hold.",
            empty="no pod has a GPU",
        ),
        build_lines(
            "Allocated by team",
            "none",
            build_query(f"sum by (team) ({ALLOCATED_GPUS})", "{{team}}"),
            description="By the label of the pod, else of its namespace; without a name: neither has one.",
            empty="no pod has a GPU",
        ),
        build_lines(
            "Queued by namespace",
            "none",
            build_query(f'sum by (namespace) ({series.QUEUED_UNITS}{{namespace=~"$namespace"}})', "{{namespace}}"),
            description="GPUs, instances and shares that its pods wait for. What a quota or Kueue holds back is not "
            "a pod yet.",
            empty="no pod waits",
        ),
        build_lines(
            "Idle by namespace",
            "none",
            build_query(f"sum by (namespace) ({series.IDLE_UNITS}{{{NAMESPACE_MATCHERS}}})", "{{namespace}}"),
            description="GPUs and instances that a pod holds and that do nothing.",
            empty=NO_POD_NAMES,
        ),
    ]


def build_place_panels() -> list[Panel]:
    return [
        build_lines(
            "Free in all, and most on one node",
            "none",
            build_query(f"sum by (resource) ({FREE_UNITS})", "{{resource}} in all"),
            build_query(f"max by (resource) ({FREE_UNITS})", "{{resource}} on one node"),
            description="A pod takes its GPUs from one node: what is free in all may be of no use to one that asks for "
            "many.",
            empty=NO_RULES,
        ),
        build_table(
            "Nodes",
            ("Offered", "none", f"sum by (node, resource) ({series.OFFERED_UNITS}{{{NODE_MATCHER}}})"),
            ("Allocated", "none", ALLOCATED_UNITS),
            ("Free", "none", f"sum by (node, resource) {FREE_UNITS}"),
            description="Units of each resource: GPUs, instances, shares.",
            empty=NO_RULES,
        ),
    ]


def render_capacity() -> str:
    return render_dashboard(
        "gpustack-gpu-capacity",
        "GPU capacity",
        "What nodes offer, what pods hold and wait for, and what of it does nothing.",
        [
            build_variable("node", "Node", series.OFFERED_UNITS),
            build_variable("namespace", "Namespace", series.ALLOCATED_UNITS),
        ],
        [
            *(build_heading("Now"), *build_current_panels()),
            *(build_heading("Over time"), *build_history_panels()),
            *(build_heading("Where"), *build_place_panels()),
        ],
    )
