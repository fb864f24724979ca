"""Recording rules of usage: GPUs that nodes offer, that pods asked for, have, and use; by node, namespace and team.

One group, so that a sample of each stands for the same time. Every expression takes `max by` a fixed set of labels, so
a second scrape of the same changes nothing. Counts are of units of a resource, which are GPUs, MIG instances or shares.
"""

from gpustack.config import usage_series as series
from gpustack.config.sections.usage import Capacity, series_label
from scripts.values.cluster_rules import GPUS
from scripts.values.gpu_rules import DEV, PROF
from scripts.values.normalise import PERCENT, RATIO, Rule, indent, named, replaced, taken

TEAM_LABEL = series_label(Capacity().team_label)
"""Of pods, else of their namespace; another one where the spec says so (gpustack/steps/alerts.py)."""
ONE = "namespace, pod, uid"
WHOLE = 'resource=~"nvidia_com_(gpu|gpu_shared)"'
HELD_BY = "node, UUID, gpu, modelName, GPU_I_ID, GPU_I_PROFILE, namespace, pod"
BOUND, UNBOUND = 'node!=""', 'node=""'
REQUESTS = "kube_pod_container_resource_requests"
INIT = "kube_pod_init_container_resource_requests"


def requested(where: str) -> str:
    """Of each pod and resource: what its containers ask for together, or an init container alone where that is more."""
    by = f"node, {ONE}, resource"
    together = f"sum by ({by}) (\n  max by ({by}, container) ({REQUESTS}{{{GPUS},{where}}})\n)"
    alone = f"max by ({by}) ({INIT}{{{GPUS},{where}}})"
    parts = [
        f'label_replace(\n{indent(text)},\n  "part", "{name}", "", ""\n)'
        for name, text in (("containers", together), ("init", alone))
    ]
    whole = indent("\nor\n".join(parts))
    return f"max by ({by}) (\n{whole}\n)"


def in_phase(phases: str) -> str:
    return f'max by ({ONE}) (kube_pod_status_phase{{phase=~"{phases}"}} == 1)'


def with_team(expr: str) -> str:
    """With the label `team` of pods that have one."""
    return (
        f"(\n{indent(expr)}\n)\n* on (namespace, pod) group_left (team) {series.TEAM}\n"
        f"or\n(\n{indent(expr)}\n)\nunless on (namespace, pod) {series.TEAM}"
    )


def team() -> Rule:
    of_pod = replaced(f'kube_pod_labels{{{TEAM_LABEL}!=""}}', "team", TEAM_LABEL)
    of_space = replaced(f'kube_namespace_labels{{{TEAM_LABEL}!=""}}', "team", TEAM_LABEL)
    return Rule(
        series.TEAM,
        f"topk by (namespace, pod) (1,\n  max by (namespace, pod, team) (\n{indent(indent(of_pod))}\n  )\n)\n"
        "or on (namespace, pod)\n"
        f"max by (namespace, pod) ({REQUESTS}{{{GPUS}}} * 0 + 1)\n* on (namespace) group_left (team)\n"
        f"topk by (namespace) (1,\n  max by (namespace, team) (\n{indent(indent(of_space))}\n  )\n)",
        why="One team a pod, also in the moment when two scrapes differ.",
    )


def units() -> Rule:
    """Rounded, because a GPU that is lost makes no shares of the others; where the node says that nothing is shared, it
    is one, unless there are MIG instances, which the strategy single offers as GPUs."""
    offered, mig = f"max by (node, resource) (kube_node_status_capacity{{{WHOLE}}} > 0)", "kube_node_status_capacity"
    whole = f"1 / clamp_min(round(\n  {offered}\n  / on (node) group_left () sum by (node) ({series.GPUS})\n), 1)"
    # Not the recorded number of instances: these expressions are also put to servers without our rules.
    instances = named(f'{DEV}GPU_TEMP{{GPU_I_ID!=""}} or {DEV}FB_USED{{GPU_I_ID!=""}}')
    plain = (
        f"({offered}) * 0 + 1\nand on (node) gpustack:node_gpu_unshared:bool\n"
        f"unless on (node) max by (node) (\n{indent(instances)}\n)"
    )
    shares = [
        f'max by (node, resource) ({mig}{{resource=~"nvidia_com_mig_{as_resource(profile)}"}} > 0) * 0 + {share:.9g}'
        for table in (series.QUARTERS, series.SHARES)
        for share, profile in table.items()
    ]
    return Rule(
        series.UNIT,
        "\nor\n".join([plain, whole, *shares]),
        why="GPUs that one unit is: less than 1 for MIG instances (compute slices), and where pods share a GPU.",
    )


def as_resource(profile: str) -> str:
    """A profile's pattern as kube-state-metrics spells it in the name of a resource: with _."""
    return profile.replace(r"\.", "_")


def held() -> list[Rule]:
    engine = taken(f'{PROF}GR_ENGINE_ACTIVE{{exported_pod!=""}}', RATIO)
    util = taken(f'{DEV}GPU_UTIL{{exported_pod!=""}}', PERCENT, "/ 100")
    whose = replaced(replaced(named(f"{engine} or {util}"), "namespace", "exported_namespace"), "pod", "exported_pod")
    by = "node, modelName, GPU_I_PROFILE, namespace, team"
    return [
        Rule(
            series.HELD,
            with_team(f"max by ({HELD_BY}) (\n{indent(whose)}\n)"),
            why="Share of time that the engine is busy, of GPUs that the kubelet gave to a pod.",
        ),
        Rule(series.ATTRIBUTED, f"count by ({by}) ({series.HELD})"),
        Rule(series.ACTIVE, f"sum by ({by}) (clamp_max({series.HELD}, 1))"),
        Rule(series.IDLE, f"sum by ({by}) ({series.HELD} < bool {series.IDLE_BELOW})"),
    ]


def queue() -> list[Rule]:
    scheduled = f"max by ({ONE}) (kube_pod_status_scheduled_time)"
    waited = (
        f"{scheduled} - max by ({ONE}) (kube_pod_created)\n"
        f"and on ({ONE}) {REQUESTS}{{{GPUS}}}\n"
        f"and on ({ONE}) (time() - {scheduled} > {series.INTERVAL} <= {2 * series.INTERVAL})"
    )
    return [
        Rule(
            series.QUEUED,
            "sum by (namespace, team, resource) (\n"
            + indent(with_team(f"{requested(UNBOUND)}\n* on ({ONE}) group_left () {in_phase('Pending')}"))
            + "\n)",
            why="What pods ask for that no node has been given to yet, whatever the reason.",
        ),
        Rule(
            series.SCHEDULED,
            f"count by (namespace) (\n{indent(waited)}\n)",
            why="Pods that got a node in the interval before the last: each is counted once.",
        ),
        Rule(series.WAITED, f"sum by (namespace) (\n{indent(waited)}\n)", why="From their creation to that moment."),
    ]


def usage() -> list[Rule]:
    return [
        Rule(series.SAMPLE, f"vector({series.INTERVAL})", why="What a sample of this group stands for."),
        team(),
        Rule(series.GPUS, "count by (node, modelName) (\n  count by (node, modelName, UUID) (gpustack:gpu:info)\n)"),
        units(),
        Rule(series.OFFERED, f"max by (node, resource) (kube_node_status_capacity{{{GPUS}}} > 0)"),
        Rule(
            series.POD,
            with_team(f"{requested(BOUND)}\n* on ({ONE}) group_left () {in_phase('Pending|Running')}"),
            why="From the moment it has a node until it has ended.",
        ),
        Rule(series.ALLOCATED, f"sum by (node, namespace, team, resource) ({series.POD})"),
        *held(),
        *queue(),
    ]
