"""Dashboard of capacity: what nodes offer, what pods hold and wait for, and what of it does nothing. What is requested,
held and active are never one number."""

from gpustack.config import usage_series as series
from scripts.values.grafana import Panel, dashboard, heading, lines, number, query, table, variable

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


def now() -> list[Panel]:
    waited, scheduled = (f"sum(sum_over_time({name}[1d]))" for name in (series.WAITED, series.SCHEDULED))
    return [
        number(
            "GPUs offered",
            "none",
            f"sum({OFFERED})",
            why="To pods, by nodes. MIG instances and shares count as their part of a GPU.",
            empty=NO_RULES,
        ),
        number(
            "Allocated",
            "none",
            f"sum({ALLOCATED}) or sum({OFFERED}) * 0",
            why="From the moment a pod has a node until it has ended: what a bill counts.",
            empty=NO_RULES,
        ),
        number(
            "Free",
            "none",
            f"sum({FREE} {UNIT})",
            why="Offered, and no pod's. Whether a waiting pod can use them depends on where they are.",
            empty=NO_RULES,
        ),
        number(
            "Queued",
            "none",
            f'sum({series.QUEUED}{{namespace=~"$namespace"}}) or sum({OFFERED}) * 0',
            why="GPUs, instances and shares that pods ask for and no node has been given to yet.",
            empty=NO_RULES,
            steps={"orange": 1},
        ),
        number(
            "Idle",
            "none",
            f"sum({series.IDLE}{{{WHOSE}}})",
            why="GPUs and instances of pods whose engine is busy for less than 5 % of the time.",
            empty=UNMEASURED,
        ),
        number(
            "Wait for a node",
            "s",
            f"{waited} / ({scheduled} > 0)",
            why="From a pod's creation: mean of those that got a node in the last day, in all namespaces.",
            empty="no pod got a GPU in the last day",
        ),
    ]


def course() -> list[Panel]:
    return [
        lines(
            "GPUs",
            "none",
            query(f"sum({OFFERED})", "offered"),
            query(f"sum({ALLOCATED})", "allocated"),
            why="Below the first and above the second line is what nobody had.",
            empty=NO_RULES,
        ),
        lines(
            "GPUs and instances of pods",
            "none",
            query(f"sum({series.ATTRIBUTED}{{{WHOSE}}})", "attributed"),
            query(f"sum({series.ACTIVE}{{{WHOSE}}})", "active"),
            query(f"sum({series.IDLE}{{{WHOSE}}})", "idle"),
            why="As exporters see them. Active is the time in which the engine was busy, idle is less than 5 % of it.",
            empty=UNMEASURED,
        ),
        lines(
            "Allocated by namespace",
            "none",
            query(f"sum by (namespace) ({ALLOCATED})", "{{namespace}}"),
            why="GPUs that pods hold.",
            empty="no pod has a GPU",
        ),
        lines(
            "Allocated by team",
            "none",
            query(f"sum by (team) ({ALLOCATED})", "{{team}}"),
            why="By the label of the pod, else of its namespace; without a name: neither has one.",
            empty="no pod has a GPU",
        ),
        lines(
            "Queued by namespace",
            "none",
            query(f'sum by (namespace) ({series.QUEUED}{{namespace=~"$namespace"}})', "{{namespace}}"),
            why="GPUs, instances and shares that its pods wait for. What a quota or Kueue holds back is not a pod yet.",
            empty="no pod waits",
        ),
        lines(
            "Idle by namespace",
            "none",
            query(f"sum by (namespace) ({series.IDLE}{{{WHOSE}}})", "{{namespace}}"),
            why="GPUs and instances that a pod holds and that do nothing.",
            empty=UNMEASURED,
        ),
    ]


def places() -> list[Panel]:
    return [
        lines(
            "Free in all, and most on one node",
            "none",
            query(f"sum by (resource) ({FREE})", "{{resource}} in all"),
            query(f"max by (resource) ({FREE})", "{{resource}} on one node"),
            why="A pod takes its GPUs from one node: what is free in all may be of no use to one that asks for many.",
            empty=NO_RULES,
        ),
        table(
            "Nodes",
            ("Offered", "none", f"sum by (node, resource) ({series.OFFERED}{{{HERE}}})"),
            ("Allocated", "none", TAKEN),
            ("Free", "none", f"sum by (node, resource) {FREE}"),
            why="Units of each resource: GPUs, instances, shares.",
            empty=NO_RULES,
        ),
    ]


def capacity() -> str:
    return dashboard(
        "gpustack-gpu-capacity",
        "GPU capacity",
        "What nodes offer, what pods hold and wait for, and what of it does nothing.",
        [
            variable("node", "Node", series.OFFERED),
            variable("namespace", "Namespace", series.ALLOCATED),
        ],
        [
            *(heading("Now"), *now()),
            *(heading("Over time"), *course()),
            *(heading("Where"), *places()),
        ],
    )
