"""Recording rules of usage: GPUs that nodes offer, that pods request, have and use; by node, namespace and team.

They are one group, so that a sample of each stands for the same time. Every expression takes `max by` a fixed set of
labels, so a second scrape of the same changes nothing. Counts are of units of a resource, which are GPUs, MIG instances
or shares.
"""

from gpustack.config.sections.usage import Capacity
from gpustack.vocabulary import usage_series as series
from gpustack.vocabulary.usage_series import format_series_label
from scripts.values.cluster_rules import GPUS
from scripts.values.contradiction_rules import build_contradicting_rule, replace_dead_counters
from scripts.values.gpu_rules import DEV, PROF
from scripts.values.normalise import Rule, label_node, pad_lines, replace_label, select_heard, select_held

TEAM_LABEL = format_series_label(Capacity().team_label)
"""The label of pods, else of their namespaces; the spec can name another one (gpustack/steps/alerts.py)."""
ONE = "namespace, pod, uid"
WHOLE = 'resource=~"nvidia_com_(gpu|gpu_shared)"'
HELD_BY = "node, UUID, gpu, modelName, GPU_I_ID, GPU_I_PROFILE, namespace, pod"
BOUND, UNBOUND = 'node!=""', 'node=""'
REQUESTS = "kube_pod_container_resource_requests"
INIT = "kube_pod_init_container_resource_requests"


def build_request_query(matchers: str) -> str:
    """Build the request of each pod and resource: that of all its containers together, or of an init container alone
    where that is more."""
    by = f"node, {ONE}, resource"
    together = f"sum by ({by}) (\n  max by ({by}, container) ({REQUESTS}{{{GPUS},{matchers}}})\n)"
    alone = f"max by ({by}) ({INIT}{{{GPUS},{matchers}}})"
    parts = [
        f'label_replace(\n{pad_lines(text)},\n  "part", "{name}", "", ""\n)'
        for name, text in (("containers", together), ("init", alone))
    ]
    whole = pad_lines("\nor\n".join(parts))
    return f"max by ({by}) (\n{whole}\n)"


def select_phase(phases: str) -> str:
    return f'max by ({ONE}) (kube_pod_status_phase{{phase=~"{phases}"}} == 1)'


def join_team(expr: str) -> str:
    """Join the label `team` of pods that have one."""
    return (
        f"(\n{pad_lines(expr)}\n)\n* on (namespace, pod) group_left (team) {series.TEAM}\n"
        f"or\n(\n{pad_lines(expr)}\n)\nunless on (namespace, pod) {series.TEAM}"
    )


def build_team_rule() -> Rule:
    of_pod = replace_label(f'kube_pod_labels{{{TEAM_LABEL}!=""}}', "team", TEAM_LABEL)
    of_space = replace_label(f'kube_namespace_labels{{{TEAM_LABEL}!=""}}', "team", TEAM_LABEL)
    return Rule(
        series.TEAM,
        f"topk by (namespace, pod) (1,\n  max by (namespace, pod, team) (\n{pad_lines(pad_lines(of_pod))}\n  )\n)\n"
        "or on (namespace, pod)\n"
        f"max by (namespace, pod) ({REQUESTS}{{{GPUS}}} * 0 + 1)\n* on (namespace) group_left (team)\n"
        f"topk by (namespace) (1,\n  max by (namespace, team) (\n{pad_lines(pad_lines(of_space))}\n  )\n)",
        comment="One team a pod, also in the moment when two scrapes differ.",
    )


def build_unit_rule() -> Rule:
    """Build the rule of a unit. It is rounded, because a lost GPU makes no shares of the others; where the node says
    that nothing is shared, it is one, unless there are MIG instances, which the strategy single offers as GPUs."""
    offered, mig = f"max by (node, resource) (kube_node_status_capacity{{{WHOLE}}} > 0)", "kube_node_status_capacity"
    whole = f"1 / clamp_min(round(\n  {offered}\n  / on (node) group_left () sum by (node) ({series.GPUS})\n), 1)"
    # Not the recorded number of instances: these expressions are also sent to servers without the rules of gpustack.
    instances = label_node(select_heard('{GPU_I_ID!=""}'))
    plain = (
        f"({offered}) * 0 + 1\nand on (node) gpustack:node_gpu_unshared:bool\n"
        f"unless on (node) max by (node) (\n{pad_lines(instances)}\n)"
    )
    matchers = {
        f'{{resource=~"nvidia_com_mig_{format_resource(profile)}"}}': share
        for table in (series.QUARTERS, series.SHARES)
        for share, profile in table.items()
    }
    shares = [f"max by (node, resource) ({mig}{matcher} > 0) * 0 + {share:.9g}" for matcher, share in matchers.items()]
    return Rule(
        series.UNIT,
        "\nor\n".join([plain, whole, *shares]),
        comment="GPUs that one unit is: less than 1 for MIG instances (compute slices), and where pods share a GPU.",
    )


def format_resource(profile: str) -> str:
    """Format a profile's pattern as kube-state-metrics spells it in the name of a resource: with _."""
    return profile.replace(r"\.", "_")


def build_held_rules() -> list[Rule]:
    measured, utilisation = (
        join_team(f"max by ({HELD_BY}) (\n{pad_lines(label_node(select_held(*fields)))}\n)")
        for fields in ((f"{PROF}GR_ENGINE_ACTIVE", f"{DEV}GPU_UTIL"), (f"{DEV}GPU_UTIL",))
    )
    by = "node, modelName, GPU_I_PROFILE, namespace, team"
    return [
        Rule(
            series.HELD,
            replace_dead_counters(f"(\n{pad_lines(measured)}\n)", f"(\n{pad_lines(utilisation)}\n)"),
            comment="Share of time that the engine is busy, of GPUs that the kubelet gave to a pod; of dead counters, "
            "utilisation.",
        ),
        Rule(series.ATTRIBUTED, f"count by ({by}) ({series.HELD})"),
        Rule(series.ACTIVE, f"sum by ({by}) (clamp_max({series.HELD}, 1))"),
        Rule(series.IDLE, f"sum by ({by}) ({series.HELD} < bool {series.IDLE_BELOW})"),
    ]


def build_queue_rules() -> list[Rule]:
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
            + pad_lines(
                join_team(f"{build_request_query(UNBOUND)}\n* on ({ONE}) group_left () {select_phase('Pending')}")
            )
            + "\n)",
            comment="What pods ask for that no node has been given to yet, whatever the reason.",
        ),
        Rule(
            series.SCHEDULED,
            f"count by (namespace) (\n{pad_lines(waited)}\n)",
            comment="Pods that got a node in the interval before the last: each is counted once.",
        ),
        Rule(
            series.WAITED,
            f"sum by (namespace) (\n{pad_lines(waited)}\n)",
            comment="From their creation to that moment.",
        ),
    ]


def build_usage_rules() -> list[Rule]:
    return [
        Rule(series.SAMPLE, f"vector({series.INTERVAL})", comment="What a sample of this group stands for."),
        build_team_rule(),
        Rule(series.GPUS, "count by (node, modelName) (\n  count by (node, modelName, UUID) (gpustack:gpu:info)\n)"),
        build_unit_rule(),
        Rule(series.OFFERED, f"max by (node, resource) (kube_node_status_capacity{{{GPUS}}} > 0)"),
        Rule(
            series.POD,
            join_team(f"{build_request_query(BOUND)}\n* on ({ONE}) group_left () {select_phase('Pending|Running')}"),
            comment="From the moment it has a node until it has ended.",
        ),
        Rule(series.ALLOCATED, f"sum by (node, namespace, team, resource) ({series.POD})"),
        build_contradicting_rule(),
        *build_held_rules(),
        *build_queue_rules(),
    ]
