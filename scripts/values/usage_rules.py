"""Recording rules of usage: GPUs that nodes offer, that pods request, have and use; by node, namespace and team.

They are one group, so that a sample of each stands for the same time. Every expression takes `max by` a fixed set of
labels, so a second scrape of the same changes nothing. Counts are of units of a resource, which are GPUs, MIG instances
or shares.
"""

from gpustack.config.sections.usage import Capacity
from gpustack.vocabulary import usage_series as series
from gpustack.vocabulary.usage_series import format_series_label
from scripts.values.cluster_rules import GPUS
from scripts.values.contradiction_rules import (
    GPU_LABELS,
    UTILISATION,
    build_contradicting_rule,
    replace_dead_counters,
)
from scripts.values.gpu_rules import DEV, PROF
from scripts.values.normalise import (
    SAME_GPU,
    Rule,
    label_node,
    pad_lines,
    replace_label,
    select_heard,
    select_held,
    select_without_pod,
)

TEAM_LABEL = format_series_label(Capacity().team_label)
"""The label of pods, else of their namespaces; the spec can name another one (gpustack/steps/alerts.py)."""
POD_LABELS = "namespace, pod, uid"
GPU_RESOURCES = 'resource=~"nvidia_com_(gpu|gpu_shared)"'
SAME_SERIES = ", ".join(("job", "instance", *SAME_GPU))
HOLDER_LABELS = "node, UUID, gpu, modelName, GPU_I_ID, GPU_I_PROFILE, namespace, pod"
INSTANCE, INSTANCE_LABELS = '{GPU_I_ID!=""}', "UUID, gpu, GPU_I_ID, GPU_I_PROFILE"
BOUND_POD, UNBOUND_POD = 'node!=""', 'node=""'
REQUESTS = "kube_pod_container_resource_requests"
INIT = "kube_pod_init_container_resource_requests"


def build_request_query(matchers: str) -> str:
    """Build the request of each pod and resource: that of all its containers together, or of an init container alone
    where that is more."""
    grouping = f"node, {POD_LABELS}, resource"
    container_requests = f"sum by ({grouping}) (\n  max by ({grouping}, container) ({REQUESTS}{{{GPUS},{matchers}}})\n)"
    init_requests = f"max by ({grouping}) ({INIT}{{{GPUS},{matchers}}})"
    parts = [
        f'label_replace(\n{pad_lines(text)},\n  "part", "{name}", "", ""\n)'
        for name, text in (("containers", container_requests), ("init", init_requests))
    ]
    all_requests = pad_lines("\nor\n".join(parts))
    return f"max by ({grouping}) (\n{all_requests}\n)"


def select_phase(phases: str) -> str:
    return f'max by ({POD_LABELS}) (kube_pod_status_phase{{phase=~"{phases}"}} == 1)'


def join_team(expr: str) -> str:
    """Join the label `team` of pods that have one."""
    return (
        f"(\n{pad_lines(expr)}\n)\n* on (namespace, pod) group_left (team) {series.TEAM}\n"
        f"or\n(\n{pad_lines(expr)}\n)\nunless on (namespace, pod) {series.TEAM}"
    )


def build_team_rule() -> Rule:
    pod_teams = replace_label(f'kube_pod_labels{{{TEAM_LABEL}!=""}}', "team", TEAM_LABEL)
    namespace_teams = replace_label(f'kube_namespace_labels{{{TEAM_LABEL}!=""}}', "team", TEAM_LABEL)
    return Rule(
        series.TEAM,
        f"topk by (namespace, pod) (1,\n  max by (namespace, pod, team) (\n{pad_lines(pad_lines(pod_teams))}\n  )\n)\n"
        "or on (namespace, pod)\n"
        f"max by (namespace, pod) ({REQUESTS}{{{GPUS}}} * 0 + 1)\n* on (namespace) group_left (team)\n"
        f"topk by (namespace) (1,\n  max by (namespace, team) (\n{pad_lines(pad_lines(namespace_teams))}\n  )\n)",
        comment="One team a pod, also in the moment when two scrapes differ.",
    )


def build_unit_rule() -> Rule:
    """Build the rule of a unit. It is rounded, because a lost GPU makes no shares of the others; where the node says
    that nothing is shared, it is one, unless there are MIG instances, which the strategy single offers as GPUs."""
    metric = "kube_node_status_capacity"
    capacity = f"max by (node, resource) ({metric}{{{GPU_RESOURCES}}} > 0)"
    shared_units = (
        f"1 / clamp_min(round(\n  {capacity}\n  / on (node) group_left () sum by (node) ({series.GPUS})\n), 1)"
    )
    # Not the recorded number of instances: these expressions are also sent to servers without the rules of gpustack.
    instances = label_node(select_heard(INSTANCE))
    plain_units = (
        f"({capacity}) * 0 + 1\nand on (node) gpustack:node_gpu_unshared:bool\n"
        f"unless on (node) max by (node) (\n{pad_lines(instances)}\n)"
    )
    matchers = {
        f'{{resource=~"nvidia_com_mig_{format_resource(profile)}"}}': share
        for table in (series.QUARTERS, series.SHARES)
        for share, profile in table.items()
    }
    shares = [
        f"max by (node, resource) ({metric}{matcher} > 0) * 0 + {share:.9g}" for matcher, share in matchers.items()
    ]
    share, replicas = "\nor\n".join(shares), pad_lines(count_replicas())
    return Rule(
        series.UNIT,
        "\nor\n".join([plain_units, shared_units, f"(\n{pad_lines(share)}\n)\n/ on (node, resource) (\n{replicas}\n)"]),
        comment="GPUs that one unit is: less than 1 for MIG instances (compute slices), and where pods share a GPU.",
    )


def count_replicas() -> str:
    """Build how often each MIG instance is offered: once, unless there are more units than instances of that
    size, because pods share them by time."""
    capacity = 'max by (node, resource) (kube_node_status_capacity{resource=~"nvidia_com_mig_.+"} > 0)'
    units = label_slices(capacity, "resource", "nvidia_com_mig_([0-9]+g)_([0-9]+gb).*")
    instance_series = pad_lines(label_node(select_heard(INSTANCE)))
    slices = label_slices(
        f"max by (node, {INSTANCE_LABELS}) (\n{instance_series}\n)", "GPU_I_PROFILE", "([0-9]+g)[.]([0-9]+gb).*"
    )
    instances = f"count by (node, slices) (\n{pad_lines(slices)}\n)"
    quotient = f"{units}\n/ on (node, slices) group_left ()\n{instances}"
    replicas = f"max by (node, resource) (\n  clamp_min(round(\n{pad_lines(pad_lines(quotient))}\n  ), 1)\n)"
    return f"{replicas}\nor\n{capacity} * 0 + 1"


def label_slices(expr: str, source: str, pattern: str) -> str:
    return f'label_replace(\n{pad_lines(expr)},\n  "slices", "$1_$2", "{source}", "{pattern}"\n)'


def format_resource(profile: str) -> str:
    """Format a profile's pattern as kube-state-metrics spells it in the name of a resource: with _."""
    return profile.replace(r"\.", "_")


def group_by_holder(expr: str) -> str:
    return f"max by ({HOLDER_LABELS}) (\n{pad_lines(label_node(expr))}\n)"


def build_processes_rule() -> Rule:
    pod_values = select_held(f"{DEV}GPU_UTIL")
    gpu_values = select_without_pod(f"{DEV}GPU_UTIL", 'GPU_I_ID=""')
    return Rule(
        series.HELD_PROCESSES,
        group_by_holder(f"(\n{pad_lines(pod_values)}\n)\nand on ({SAME_SERIES}) (\n{pad_lines(gpu_values)}\n)"),
        comment="Utilisation of a pod's own processes, which exporter 4.8.2 has beside the GPU's. Of MIG it has none.",
    )


def build_utilisation() -> str:
    """Build the utilisation of GPUs that pods hold: of each pod's own processes where an exporter has that, else
    of the GPU. It is unknown where no process of a busy GPU is known, but for a pod that is alone: it has the GPU's."""
    pod_values, gpu_values = select_held(f"{DEV}GPU_UTIL"), select_without_pod(f"{DEV}GPU_UTIL")
    copied_utilisation = group_by_holder(
        f"(\n{pad_lines(pod_values)}\n)\nunless on ({SAME_SERIES}) (\n{pad_lines(gpu_values)}\n)"
    )
    processes = series.HELD_PROCESSES
    process_utilisation = (
        f"{processes}\nunless on ({GPU_LABELS}) (\n"
        f"  max by ({GPU_LABELS}) ({processes}) == 0 and on ({GPU_LABELS}) {UTILISATION} > {series.IDLE_BELOW}\n)"
    )
    single_utilisation = (
        f"{processes} + on ({GPU_LABELS}) group_left () max by ({GPU_LABELS}) ({UTILISATION})\n"
        f"and on ({GPU_LABELS}) count by ({GPU_LABELS}) ({processes}) == 1"
    )
    scoped_utilisation = replace_scope(f"{process_utilisation}\nor\n{single_utilisation}")
    return f"{copied_utilisation}\nor\n{scoped_utilisation}"


def replace_scope(expr: str) -> str:
    return f'label_replace(\n{pad_lines(expr)},\n  "{series.SCOPE}", "{series.OF_POD}", "", ""\n)'


def build_held_rules() -> list[Rule]:
    engine = group_by_holder(select_held(f"{PROF}GR_ENGINE_ACTIVE"))
    activity = replace_dead_counters(engine, build_utilisation(), f"ignoring ({series.SCOPE})")
    grouping = f"node, modelName, GPU_I_PROFILE, namespace, team, {series.SCOPE}"
    return [
        build_processes_rule(),
        Rule(
            series.HELD_GPUS,
            join_team(activity),
            comment="Share of time that the engine is busy, of GPUs that the kubelet gave to a pod; of dead counters, "
            "utilisation. With a scope it is of the pod's own processes.",
        ),
        Rule(series.ATTRIBUTED_UNITS, f"count by ({grouping}) ({series.HELD_GPUS})"),
        Rule(series.ACTIVE_UNITS, f"sum by ({grouping}) (clamp_max({series.HELD_GPUS}, 1))"),
        Rule(series.IDLE_UNITS, f"sum by ({grouping}) ({series.HELD_GPUS} < bool {series.IDLE_BELOW})"),
    ]


def build_queue_rules() -> list[Rule]:
    scheduled_times = f"max by ({POD_LABELS}) (kube_pod_status_scheduled_time)"
    waiting_times = (
        f"{scheduled_times} - max by ({POD_LABELS}) (kube_pod_created)\n"
        f"and on ({POD_LABELS}) {REQUESTS}{{{GPUS}}}\n"
        f"and on ({POD_LABELS}) (time() - {scheduled_times} > {series.INTERVAL} <= {2 * series.INTERVAL})"
    )
    return [
        Rule(
            series.QUEUED_UNITS,
            "sum by (namespace, team, resource) (\n"
            + pad_lines(
                join_team(
                    f"{build_request_query(UNBOUND_POD)}\n* on ({POD_LABELS}) group_left () {select_phase('Pending')}"
                )
            )
            + "\n)",
            comment="What pods ask for that no node has been given to yet, whatever the reason.",
        ),
        Rule(
            series.SCHEDULED_PODS,
            f"count by (namespace) (\n{pad_lines(waiting_times)}\n)",
            comment="Pods that got a node in the interval before the last: each is counted once.",
        ),
        Rule(
            series.WAITED_SECONDS,
            f"sum by (namespace) (\n{pad_lines(waiting_times)}\n)",
            comment="From their creation to that moment.",
        ),
    ]


def build_usage_rules() -> list[Rule]:
    return [
        Rule(series.SAMPLE, f"vector({series.INTERVAL})", comment="What a sample of this group stands for."),
        build_team_rule(),
        Rule(series.GPUS, "count by (node, modelName) (\n  count by (node, modelName, UUID) (gpustack:gpu:info)\n)"),
        build_unit_rule(),
        Rule(series.OFFERED_UNITS, f"max by (node, resource) (kube_node_status_capacity{{{GPUS}}} > 0)"),
        Rule(
            series.POD,
            join_team(
                f"{build_request_query(BOUND_POD)}\n* on ({POD_LABELS}) group_left () {select_phase('Pending|Running')}"
            ),
            comment="From the moment it has a node until it has ended.",
        ),
        Rule(series.ALLOCATED_UNITS, f"sum by (node, namespace, team, resource) ({series.POD})"),
        build_contradicting_rule(),
        *build_held_rules(),
        *build_queue_rules(),
    ]
