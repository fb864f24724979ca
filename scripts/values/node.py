"""Dashboard of nodes: their GPUs beside the load of the host, from node-exporter."""

from functools import partial

from scripts.values.detail import build_figure_panel, select_series
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
from scripts.values.overview import NO_MEASUREMENT, NODES, select_gpu_series

NODE, NODE_MATCHER = "{{node}}", 'node=~"$node"'
# Interfaces of pods and of the host with itself: their bytes pass another one, too.
LOCAL_DEVICES = "lo|veth.*|cni.*|flannel.*|docker.*|br-.*"


def build_total_panels() -> list[Panel]:
    return [
        build_number(
            "GPUs",
            "none",
            f"sum(gpustack:node_gpus:count{NODES}) or vector(0)",
            description="That report, by UUID.",
        ),
        build_number(
            "MIG instances",
            "none",
            f"sum(gpustack:node_gpu_mig_instances:count{NODES}) or vector(0)",
            description="That report; their GPUs are counted beside.",
        ),
        build_number(
            "Requested of allocatable",
            "percentunit",
            f"sum(gpustack:node_gpu_requested:count{NODES}) / (sum(gpustack:node_gpu_allocatable:count{NODES}) > 0)",
            description="What pods that have not ended ask for, of what Kubernetes can give.",
            empty="nothing requested",
        ),
        build_number(
            "Power", "watt", f"sum({select_gpu_series('gpu_power:watts')})", description="Of all boards together."
        ),
        build_number(
            "Exporters that answer",
            "none",
            f"sum(gpustack:node_gpu_exporter:up{NODES})",
            description="Nodes whose exporter could be scraped.",
            empty="no exporter is scraped",
        ),
        build_number(
            "Nodes that are ready",
            "none",
            f"sum(gpustack:node_ready:bool{NODES})",
            description="As Kubernetes says.",
        ),
    ]


def build_gpu_panels() -> list[Panel]:
    build_node_panel = partial(build_figure_panel, selection=NODE_MATCHER, empty="no data")
    return [
        build_node_panel(
            "SM activity",
            "percentunit",
            "gpu_sm_active:ratio",
            "Share of the SMs that have work.",
            empty=NO_MEASUREMENT,
            top=1,
        ),
        build_node_panel(
            "Memory utilisation",
            "percentunit",
            "gpu_memory_utilisation:ratio",
            "Used of used and free. Frameworks reserve ahead: a full memory alone is no shortage.",
            top=1,
        ),
        build_node_panel("Temperature", "celsius", "gpu_temperature:celsius", "Of the core.", board=True),
        build_node_panel("Power", "watt", "gpu_power:watts", "Draw of the boards.", board=True),
        build_table(
            "Who has the GPUs",
            (
                "Engine activity",
                "percentunit",
                select_series(
                    "gpu_active:ratio",
                    "workload_namespace",
                    "workload_pod",
                    matchers=',workload_pod!=""',
                    selection=NODE_MATCHER,
                ),
            ),
            description="Pods that the kubelet gave GPUs of these nodes to, now.",
            empty="these GPUs are free",
            height=6,
        ),
    ]


def join_node(expr: str) -> str:
    """Join a figure of a node-exporter with its node: the figure has its pod, kube-state-metrics the pod's node."""
    return (
        f"sum by (namespace, pod) ({expr}) * on (namespace, pod) group_left (node) "
        f"max by (namespace, pod, node) (kube_pod_info{NODES})"
    )


def build_host_panels() -> list[Panel]:
    """Build panels of hosts. Names: prometheus/node_exporter, collectors cpu, meminfo, diskstats, netdev."""

    def build_mode_share(modes: str) -> str:
        mode_rate, total_rate = (
            f"sum by (namespace, pod) (rate(node_cpu_seconds_total{matchers}[$__rate_interval]))"
            for matchers in (f'{{mode=~"{modes}"}}', "")
        )
        return join_node(f"{mode_rate} / ({total_rate} > 0)")

    def build_flow(direction: str) -> str:
        return join_node(f'rate(node_network_{direction}_bytes_total{{device!~"{LOCAL_DEVICES}"}}[$__rate_interval])')

    return [
        build_lines(
            "Processors",
            "percentunit",
            build_query(build_mode_share("user|nice|system|irq|softirq|steal"), f"{NODE} busy"),
            build_query(build_mode_share("iowait"), f"{NODE} waiting for disks"),
            description="Share of all cores. A GPU can wait for one busy core, which shows little here.",
            empty="node-exporter is not scraped",
            top=1,
        ),
        build_lines(
            "Memory of the host",
            "percentunit",
            build_query(join_node("1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes"), NODE),
            description="Share that is not available to programs.",
            empty="node-exporter is not scraped",
            top=1,
        ),
        build_lines(
            "Busiest disk",
            "percentunit",
            build_query(
                join_node("max by (namespace, pod) (rate(node_disk_io_time_seconds_total[$__rate_interval]))"),
                NODE,
            ),
            description="Share of time with a request under way. Of flash, 100 % is not yet its limit.",
            empty="node-exporter is not scraped",
            top=1,
        ),
        build_lines(
            "Network",
            "Bps",
            build_query(build_flow("receive"), f"{NODE} receive"),
            build_query(build_flow("transmit"), f"{NODE} transmit"),
            description="Of the host's interfaces, without those of pods; InfiniBand is not among them.",
            empty="node-exporter is not scraped",
        ),
    ]


def render_node() -> str:
    return render_dashboard(
        "gpustack-gpu-node",
        "GPU node",
        "GPUs of a node beside its processors, memory, disks and network.",
        [build_variable("node", "Node", "gpustack:node_ready:bool")],
        [
            *build_total_panels(),
            build_heading("GPUs"),
            *build_gpu_panels(),
            build_heading("Host"),
            *build_host_panels(),
        ],
    )
