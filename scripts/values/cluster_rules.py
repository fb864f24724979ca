"""Recording rules of nodes and operands, from kube-state-metrics."""

from gpustack.vocabulary.labels import DRIVERS
from scripts.values.normalise import HEARD_GPUS, Rule, fill_label, label_node, pad_lines, select_heard

GPUS = 'resource=~"nvidia_com_(gpu|gpu_shared|mig_.+)"'
EXPORTER, OTHER_JOB = 'job=~".*dcgm.*"', 'job!~".*dcgm.*"'
OPERANDS = '=~"(nvidia|gpu|gpustack)-.+|.*node-feature-discovery-worker"'
OPERATORS = 'deployment=~"gpu-operator|.*node-feature-discovery-(master|gc)"'

DRIVERS_IN_PODS = 'created_by_kind="DaemonSet",created_by_name=~"nvidia-(gpu-)?driver-.+"'
DAEMON_PODS = f'created_by_kind="DaemonSet",created_by_name{OPERANDS}'
READY = 'kube_pod_status_ready{condition="true"}'
STARTING = "20m"
"""A driver in a container is compiled at each boot of its node: 5 to 15 minutes, in which the node is Ready."""
REJECTION_SECONDS = 120
"""A pod that was rejected has the time of that as its start (Kubernetes 1.36, pkg/kubelet/status/status_manager.go), if
it had no start before. Two minutes have a scrape and an evaluation, also where a clock is a minute off."""

LINKS = ("gpu_pcie_lanes", "gpu_pcie_generation")
IDENTIFIED_GPUS = select_heard('{UUID!=""}')


def join_exporter_node(metric: str, condition: str = "") -> str:
    """Join a metric of each exporter with its node: Prometheus knows its pod, kube-state-metrics the node."""
    selection = f"({metric}{{{EXPORTER}}}{condition})" if condition else f"{metric}{{{EXPORTER}}}"
    return (
        "max by (node) (\n"
        f"  {selection}\n"
        "  * on (namespace, pod) group_left (node)\n"
        '  max by (namespace, pod, node) (kube_pod_info{node!=""})\n)'
    )


def join_node_of_gpus(metric: str) -> str:
    """Join a metric of each exporter with its node. A target without a pod, as one of a static list, has the node of
    the GPUs that it tells of, and so has one of a job with another name, which these GPUs make an exporter."""
    return (
        f"{join_exporter_node(metric)}\nor\nmax by (node) (\n"
        f"  max by (job, instance, node) (\n{pad_lines(pad_lines(label_node(f'({HEARD_GPUS}) * 0 + 1')))}\n  )\n"
        "  * on (job, instance) group_left ()\n"
        f'  max by (job, instance) ({metric}{{pod=""}} or {metric}{{{OTHER_JOB}}})\n)'
    )


def build_node_rules() -> list[Rule]:
    return [
        Rule(
            "gpustack:node_gpus:count",
            "count by (node) (\n  count by (node, UUID) (gpustack:gpu:info)\n)",
            comment="What the exporter speaks of: distinct UUIDs, so neither MIG instances nor a second job count "
            "twice.",
        ),
        Rule(
            "gpustack:node_gpu_mig_instances:count",
            'count by (node) (\n  count by (node, UUID, GPU_I_ID) (gpustack:gpu:info{GPU_I_ID!=""})\n)',
        ),
        Rule(
            "gpustack:node_gpu_exporter:up",
            join_node_of_gpus("up"),
            comment="1 when a scrape of the node's exporter succeeded.",
        ),
        Rule("gpustack:node_gpu_exporter_scrape:seconds", join_node_of_gpus("scrape_duration_seconds")),
        Rule(
            "gpustack:node_gpu_exporter_speaks:bool",
            join_exporter_node("up", f"\n  and on (job, instance) (\n{pad_lines(pad_lines(HEARD_GPUS))}\n  )")
            + " == 1",
            comment="The exporter on the node tells of a GPU, whatever host its labels name: its own pod where "
            "NODE_NAME is not set.",
        ),
        Rule(
            "gpustack:node_gpu_driver:info",
            "max by (node, modelName, driver) (\n"
            + pad_lines(fill_label(label_node(f"({HEARD_GPUS}) * 0 + 1"), "driver", DRIVERS))
            + "\n)",
            comment="The label of the driver's version has another name since exporter 4.9.0.",
        ),
        Rule(
            "gpustack:gpu_scrape_targets:count",
            f"max by (node, UUID) (\n{pad_lines(label_node(f'({IDENTIFIED_GPUS}) * 0 + 1'))}\n)\n"
            "* on (UUID) group_left ()\n"
            f"count by (UUID) (\n  max by (UUID, job, instance) (\n{pad_lines(pad_lines(IDENTIFIED_GPUS))}\n  )\n)",
            comment="More than 1: two monitors scrape the same exporter, or two exporters tell of the same GPU. Two "
            "exporters may have one job, and name different hosts.",
        ),
        Rule(
            "gpustack:node_gpu_capacity:count",
            f"max by (node, resource) (kube_node_status_capacity{{{GPUS}}})",
            comment="What the device plugin offers; with time-slicing and MPS these are shares, with MIG instances.",
        ),
        Rule(
            "gpustack:node_gpu_allocatable:count", f"max by (node, resource) (kube_node_status_allocatable{{{GPUS}}})"
        ),
        Rule(
            "gpustack:node_gpu_requested:count",
            "sum by (node, resource) (\n"
            f"  max by (node, namespace, pod, uid, container, resource) (\n"
            f'    kube_pod_container_resource_requests{{{GPUS},node!=""}}\n  )\n'
            "  * on (namespace, pod, uid) group_left ()\n"
            '  max by (namespace, pod, uid) (kube_pod_status_phase{phase=~"Pending|Running"})\n)',
            comment="Finished pods keep their request until they are deleted, so only live ones count.",
        ),
        Rule(
            "gpustack:node_gpu_attributed:count",
            'count by (node) (\n  count by (node, UUID, GPU_I_ID) (gpustack:gpu_active:ratio{workload_pod!=""})\n)',
            comment="GPUs and MIG instances that the exporter says a pod has.",
        ),
        Rule("gpustack:node_cordoned:bool", "max by (node) (kube_node_spec_unschedulable)"),
        Rule(
            "gpustack:node_gpu_free:count",
            "(\n"
            "  gpustack:node_gpu_allocatable:count\n"
            "  - (gpustack:node_gpu_requested:count or gpustack:node_gpu_allocatable:count * 0)\n"
            ")\n"
            "and on (node) gpustack:node_ready:bool == 1\n"
            "unless on (node) gpustack:node_cordoned:bool == 1",
            comment="Of nodes that take pods.",
        ),
        Rule(
            "gpustack:pod_gpus_pending:count",
            "sum by (namespace, pod, resource) (\n"
            "  max by (namespace, pod, uid, container, resource) (\n"
            f'    kube_pod_container_resource_requests{{{GPUS},node=""}}\n  )\n'
            "  * on (namespace, pod, uid) group_left ()\n"
            "  max by (namespace, pod, uid) (kube_pod_status_unschedulable == 1)\n)",
            comment="What pods wait for that the scheduler finds no node for.",
        ),
        Rule(
            "gpustack:node_ready:bool",
            'max by (node) (kube_node_status_condition{condition="Ready",status="true"})',
        ),
        Rule(
            "gpustack:node_gpu_driver_starting:bool",
            "max by (node) (\n"
            '  (kube_pod_status_ready{condition="true"} == 0)\n'
            "  * on (namespace, pod) group_left (node)\n"
            f'  max by (namespace, pod, node) (kube_pod_info{{{DRIVERS_IN_PODS},node!=""}})\n'
            ") + 1\n"
            "unless on (node) (\n"
            f"  min_over_time(gpustack:node_ready:bool[{STARTING}]) == 1\n"
            f"  and on (node) gpustack:node_ready:bool offset {STARTING}\n)",
            comment=f"The pod of the driver is not ready, on a node that joined or was not Ready within {STARTING}.",
        ),
        Rule(
            "gpustack:pod_gpus_rejected:bool",
            "max by (node, namespace, pod, uid) (\n"
            f'  kube_pod_container_resource_requests{{{GPUS},node!=""}} * 0 + 1\n)\n'
            "and on (namespace, pod, uid) kube_pod_status_reason"
            f'{{reason="UnexpectedAdmissionError"}} == 1\n'
            f"and on (namespace, pod, uid) time() - kube_pod_start_time < {REJECTION_SECONDS}\n"
            "and on (node) min_over_time(gpustack:node_ready:bool[5m]) == 1\n"
            "and on (node) gpustack:node_gpu_allocatable:count > 0",
            comment="The kubelet rejected the pod when it came. A pod that it rejects when it starts came before.",
        ),
        Rule(
            "gpustack:node_gpu_pods_rejected:count",
            "count by (node) (\n"
            "  count by (node, namespace, pod, uid) (\n"
            "    present_over_time(gpustack:pod_gpus_rejected:bool[30m])\n  )\n)",
            comment="Pods that came within half an hour. Their controllers may have deleted them since.",
        ),
        Rule(
            "gpustack:node_gpu_unshared:bool",
            'max by (node) (kube_node_labels{label_nvidia_com_gpu_sharing_strategy="none"})',
            comment="Where known that one unit of nvidia.com/gpu is one GPU. Needs the label in metricLabelsAllowlist.",
        ),
        Rule(
            "gpustack:node_gpu_shared:bool",
            'max by (node) (kube_node_labels{label_nvidia_com_gpu_sharing_strategy=~"time-slicing|mps"})',
            comment="Where known that one unit of nvidia.com/gpu is a share of a GPU.",
        ),
        Rule(
            "gpustack:node_gpu_present:bool",
            'max by (node) (kube_node_labels{label_nvidia_com_gpu_present="true"})',
        ),
        Rule(
            "gpustack:node_gpu_opted_out:bool",
            'max by (node) (kube_node_labels{label_nvidia_com_gpu_deploy_operands="false"})',
            comment="Nodes whose GPUs are for something else. Needs the label in metricLabelsAllowlist.",
        ),
    ]


def build_day_rules() -> list[Rule]:
    siblings = [
        Rule(
            f"gpustack:node_model_{name.removeprefix('gpu_')}:quantile25",
            "quantile by (node, modelName) (\n"
            f"  0.25, max by (node, UUID, modelName) (max_over_time(gpustack:{name}:number[10m]))\n)\n"
            "and on (node, modelName)\n"
            "count by (node, modelName) (\n"
            f"  max by (node, UUID, modelName) (gpustack:{name}:number)\n) >= 4",
            comment="What three quarters of the GPUs of a model have on a node with four or more."
            if name == LINKS[0]
            else "",
        )
        for name in LINKS
    ]
    return [
        *siblings,
        Rule(
            "gpustack:cluster_gpu_demand:count",
            "sum by (resource) (gpustack:node_gpu_requested:count or gpustack:node_gpu_allocatable:count * 0)\n"
            "+ on (resource) (\n"
            "  sum by (resource) (gpustack:pod_gpus_pending:count)\n"
            "  or sum by (resource) (gpustack:node_gpu_allocatable:count) * 0\n"
            ")",
            comment="What pods have and what they wait for.",
        ),
        Rule("gpustack:cluster_gpu_demand:max1d", "max_over_time(gpustack:cluster_gpu_demand:count[1d])"),
        Rule(
            "gpustack:cluster_gpu_schedulable:count",
            "sum by (resource) (\n"
            "  gpustack:node_gpu_allocatable:count\n"
            "  and on (node) gpustack:node_ready:bool == 1\n"
            "  unless on (node) gpustack:node_cordoned:bool == 1\n)",
            comment="What nodes that take pods can allocate.",
        ),
        Rule(
            "gpustack:node_gpu_expected:bool",
            "(\n"
            "  max by (node) (max_over_time(gpustack:node_gpu_capacity:count[1d]) > bool 0) == 1\n"
            "  or on (node) gpustack:node_gpu_present:bool\n"
            ")\n"
            "and on (node) gpustack:node_ready:bool\n"
            "unless on (node) gpustack:node_gpu_opted_out:bool",
            comment="Nodes that should show GPUs: had a capacity within a day or carry the label, are still nodes, and "
            "do not keep their GPUs out of the cluster.",
        ),
    ]


def build_operand_rules() -> list[Rule]:
    return [
        Rule(
            "gpustack:operand_missing:count",
            "max by (namespace, operand) (\n"
            "  label_replace(\n"
            "    max by (namespace, daemonset) (\n"
            f"      kube_daemonset_status_desired_number_scheduled{{daemonset{OPERANDS}}}\n    )\n"
            "    - max by (namespace, daemonset) (kube_daemonset_status_number_ready),\n"
            '    "operand", "$1", "daemonset", "(.+)"\n  )\n'
            "  or\n"
            "  label_replace(\n"
            f"    max by (namespace, deployment) (\n      kube_deployment_spec_replicas{{{OPERATORS}}}\n    )\n"
            "    - max by (namespace, deployment) (kube_deployment_status_replicas_available),\n"
            '    "operand", "$1", "deployment", "(.+)"\n  )\n)',
            comment="Pods of an operand that should be ready and are not; of the operator itself too.",
        ),
        Rule(
            "gpustack:operand_recent_outage:count",
            "count by (namespace, operand) (\n  max by (namespace, operand, pod) (\n    label_replace(\n"
            f"      kube_pod_info{{{DAEMON_PODS}}}\n"
            f"      and on (namespace, pod) ({READY} == 0 unless {READY} offset 2m == 0)\n"
            "      or\n"
            f"      kube_pod_info{{{DAEMON_PODS}}}\n"
            f"      and on (namespace, pod) {READY} == 0\n"
            "      and on (node) gpustack:node_ready:bool == 0,\n"
            '      "operand", "$1", "created_by_name", "(.+)"\n    )\n  )\n)',
            comment="Those that were ready two minutes ago, or not there: nodes may be booted one after another. And "
            "those of nodes that are not Ready, which is told of the node.",
        ),
        Rule(
            "gpustack:operator_reconciled:status",
            "max(gpu_operator_reconciliation_status)",
            comment="1 is success.",
        ),
        Rule("gpustack:cluster_nodes:count", "count(gpustack:node_ready:bool)"),
        Rule("gpustack:cluster_gpu_exporters:count", f"count(up{{{EXPORTER}}})", comment="Targets, reachable or not."),
    ]


def build_half_hour_rules() -> list[Rule]:
    """Build what alerts compare with a day or a week. The group is evaluated each half hour: an alert takes the maximum
    of a week over 336 samples of a GPU in place of 20,160."""
    link_rules = [
        Rule(
            f"gpustack:{name}:max30m",
            f"max by (node, UUID) (\n  max_over_time(gpustack:{name}:number[30m])\n)",
        )
        for name in LINKS
    ]
    traffic_rule = Rule(
        "gpustack:gpu_nvlink_traffic:max30m",
        "max by (node, UUID) (\n"
        "  max_over_time(gpustack:gpu_nvlink_traffic:bytes_per_second[30m])\n"
        "  or max_over_time(gpustack:gpu_nvlink_transmit:bytes_per_second[30m])\n)",
        comment="A GPU that has NVLinks without a bridge has no traffic, ever.",
    )
    heard_rule = Rule(
        "gpustack:gpu_heard:max30m",
        "max by (node, UUID, modelName) (\n  max_over_time(gpustack:gpu:info[30m])\n)",
        comment="GPUs heard of within half an hour.",
    )
    return [*link_rules, traffic_rule, heard_rule]
