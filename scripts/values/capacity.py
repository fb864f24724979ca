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
HERE = 'node=~"$node"'
WHOSE = f'{HERE},namespace=~"$namespace"'
OFFERED = f"{series.OFFERED}{{{HERE}}} {UNIT}"
ALLOCATED = f"{series.ALLOCATED}{{{WHOSE}}} {UNIT}"
TAKEN = f"sum by (node, resource) ({series.ALLOCATED}{{{HERE}}})"
FREE = f"({series.OFFERED}{{{HERE}}} - ({TAKEN} or {series.OFFERED}{{{HERE}}} * 0))"
"""Units of a resource, by node."""
NO_RULES = "the recorded series of usage are not there"
UNMEASURED = "no exporter names a pod"


def build_current_panels() -> list[Panel]:
    waited, scheduled = (f"sum(sum_over_time({name}[1d]))" for name in (series.WAITED, series.SCHEDULED))
    return [
        build_number(
            "GPUs offered",
            "none",
            f"sum({OFFERED})",
            description="To pods, by nodes. MIG instances and shares count as their part of a GPU.",
            empty=NO_RULES,
        ),
        build_number(
            "Allocated",
            "none",
            f"sum({ALLOCATED}) or sum({OFFERED}) * 0",
            description="From the moment a pod has a node until it has ended: what a bill counts.",
            empty=NO_RULES,
        ),
        build_number(
            "Free",
            "none",
            f"sum({FREE} {UNIT})",
            description="Offered, and no pod's. Whether a waiting pod can use them depends on where they are.",
            empty=NO_RULES,
        ),
        build_number(
            "Queued",
            "none",
            f'sum({series.QUEUED}{{namespace=~"$namespace"}}) or sum({OFFERED}) * 0',
            description="GPUs, instances and shares that pods ask for and no node has been given to yet.",
            empty=NO_RULES,
            steps={"orange": 1},
        ),
        build_number(
            "Idle",
            "none",
            f"sum({series.IDLE}{{{WHOSE}}})",
            description="GPUs and instances of pods whose engine is busy for less than 5 % of the time.",
            empty=UNMEASURED,
        ),
        build_number(
            "Wait for a node",
            "s",
            f"{waited} / ({scheduled} > 0)",
            description="From a pod's creation: mean of those that got a node in the last day, in all namespaces.",
            empty="no pod got a GPU in the last day",
        ),
    ]


def build_history_panels() -> list[Panel]:
    return [
        build_lines(
            "GPUs",
            "none",
            build_query(f"sum({OFFERED})", "offered"),
            build_query(f"sum({ALLOCATED})", "allocated"),
            description="Below the first and above the second line is what nobody had.",
            empty=NO_RULES,
        ),
        build_lines(
            "GPUs and instances of pods",
            "none",
            build_query(f"sum({series.ATTRIBUTED}{{{WHOSE}}})", "attributed"),
            build_query(f"sum({series.ACTIVE}{{{WHOSE}}})", "active"),
            build_query(f"sum({series.IDLE}{{{WHOSE}}})", "idle"),
            description="As exporters see them. Active is the time in which the engine was busy, idle is less than "
            "5 % of it. Of shared GPUs without profiling fields, active is what the pods' own processes use.",
            empty=UNMEASURED,
        ),
        build_lines(
            "Allocated by namespace",
            "none",
            build_query(f"sum by (namespace) ({ALLOCATED})", "{{namespace}}"),
            description="GPUs that pods hold.",
            empty="no pod has a GPU",
        ),
        build_lines(
            "Allocated by team",
            "none",
            build_query(f"sum by (team) ({ALLOCATED})", "{{team}}"),
            description="By the label of the pod, else of its namespace; without a name: neither has one.",
            empty="no pod has a GPU",
        ),
        build_lines(
            "Queued by namespace",
            "none",
            build_query(f'sum by (namespace) ({series.QUEUED}{{namespace=~"$namespace"}})', "{{namespace}}"),
            description="GPUs, instances and shares that its pods wait for. What a quota or Kueue holds back is not "
            "a pod yet.",
            empty="no pod waits",
        ),
        build_lines(
            "Idle by namespace",
            "none",
            build_query(f"sum by (namespace) ({series.IDLE}{{{WHOSE}}})", "{{namespace}}"),
            description="GPUs and instances that a pod holds and that do nothing.",
            empty=UNMEASURED,
        ),
    ]


def build_place_panels() -> list[Panel]:
    return [
        build_lines(
            "Free in all, and most on one node",
            "none",
            build_query(f"sum by (resource) ({FREE})", "{{resource}} in all"),
            build_query(f"max by (resource) ({FREE})", "{{resource}} on one node"),
            description="A pod takes its GPUs from one node: what is free in all may be of no use to one that asks for "
            "many.",
            empty=NO_RULES,
        ),
        build_table(
            "Nodes",
            ("Offered", "none", f"sum by (node, resource) ({series.OFFERED}{{{HERE}}})"),
            ("Allocated", "none", TAKEN),
            ("Free", "none", f"sum by (node, resource) {FREE}"),
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
            build_variable("node", "Node", series.OFFERED),
            build_variable("namespace", "Namespace", series.ALLOCATED),
        ],
        [
            *(build_heading("Now"), *build_current_panels()),
            *(build_heading("Over time"), *build_history_panels()),
            *(build_heading("Where"), *build_place_panels()),
        ],
    )
