"""Dashboard of nodes: their GPUs beside what the host itself does, from node-exporter."""

from scripts.values.detail import GPU, of
from scripts.values.grafana import Panel, dashboard, heading, lines, number, query, table, variable
from scripts.values.overview import HERE, UNMEASURED, each

NODE, THESE = "{{node}}", 'node=~"$node"'
# Interfaces of pods and of the host with itself: their bytes pass another one, too.
INSIDE = "lo|veth.*|cni.*|flannel.*|docker.*|br-.*"


def totals() -> list[Panel]:
    return [
        number("GPUs", "none", f"sum(gpustack:node_gpus:count{HERE}) or vector(0)", why="That report, by UUID."),
        number(
            "MIG instances",
            "none",
            f"sum(gpustack:node_gpu_mig_instances:count{HERE}) or vector(0)",
            why="That report; their GPUs are counted beside.",
        ),
        number(
            "Requested of allocatable",
            "percentunit",
            f"sum(gpustack:node_gpu_requested:count{HERE}) / (sum(gpustack:node_gpu_allocatable:count{HERE}) > 0)",
            why="What pods that have not ended ask for, of what Kubernetes can give.",
            empty="nothing requested",
        ),
        number("Power", "watt", f"sum({each('gpu_power:watts')})", why="Of all boards together."),
        number(
            "Exporters that answer",
            "none",
            f"sum(gpustack:node_gpu_exporter:up{HERE})",
            why="Nodes whose exporter could be scraped.",
            empty="no exporter is scraped",
        ),
        number("Nodes that are ready", "none", f"sum(gpustack:node_ready:bool{HERE})", why="As Kubernetes says."),
    ]


def gpus() -> list[Panel]:
    def one(title: str, unit: str, name: str, why: str, empty: str = "no data", top: float | None = None) -> Panel:
        return lines(title, unit, query(of(name, these=THESE), GPU), why=why, empty=empty, top=top)

    return [
        one("SM activity", "percentunit", "gpu_sm_active:ratio", "Share of the SMs that have work.", UNMEASURED, 1),
        one(
            "Memory utilisation",
            "percentunit",
            "gpu_memory_utilisation:ratio",
            "Used of used and free. Frameworks reserve ahead: a full memory alone is no shortage.",
            top=1,
        ),
        one("Temperature", "celsius", "gpu_temperature:celsius", "Of the core."),
        one("Power", "watt", "gpu_power:watts", "Draw of the boards."),
        table(
            "Who has the GPUs",
            (
                "Engine activity",
                "percentunit",
                of("gpu_active:ratio", "workload_namespace", "workload_pod", where=',workload_pod!=""', these=THESE),
            ),
            why="Pods that the kubelet gave GPUs of these nodes to, now.",
            empty="these GPUs are free",
            height=6,
        ),
    ]


def of_node(expr: str) -> str:
    """A figure of a node-exporter, by node: it knows its pod, kube-state-metrics the pod's node."""
    return (
        f"sum by (namespace, pod) ({expr}) * on (namespace, pod) group_left (node) "
        f"max by (namespace, pod, node) (kube_pod_info{HERE})"
    )


def host() -> list[Panel]:
    """Names: prometheus/node_exporter, collectors cpu, meminfo, diskstats, netdev."""

    def mode(modes: str) -> str:
        part, whole = (
            f"sum by (namespace, pod) (rate(node_cpu_seconds_total{which}[$__rate_interval]))"
            for which in (f'{{mode=~"{modes}"}}', "")
        )
        return of_node(f"{part} / ({whole} > 0)")

    def flow(direction: str) -> str:
        return of_node(f'rate(node_network_{direction}_bytes_total{{device!~"{INSIDE}"}}[$__rate_interval])')

    return [
        lines(
            "Processors",
            "percentunit",
            query(mode("user|nice|system|irq|softirq|steal"), f"{NODE} busy"),
            query(mode("iowait"), f"{NODE} waiting for disks"),
            why="Share of all cores. A GPU can wait for one busy core, which shows little here.",
            empty="node-exporter is not scraped",
            top=1,
        ),
        lines(
            "Memory of the host",
            "percentunit",
            query(of_node("1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes"), NODE),
            why="Share that is not available to programs.",
            empty="node-exporter is not scraped",
            top=1,
        ),
        lines(
            "Busiest disk",
            "percentunit",
            query(
                of_node("max by (namespace, pod) (rate(node_disk_io_time_seconds_total[$__rate_interval]))"),
                NODE,
            ),
            why="Share of time with a request under way. Of flash, 100 % is not yet its limit.",
            empty="node-exporter is not scraped",
            top=1,
        ),
        lines(
            "Network",
            "Bps",
            query(flow("receive"), f"{NODE} receive"),
            query(flow("transmit"), f"{NODE} transmit"),
            why="Of the host's interfaces, without those of pods; InfiniBand is not among them.",
            empty="node-exporter is not scraped",
        ),
    ]


def node() -> str:
    return dashboard(
        "gpustack-gpu-node",
        "GPU node",
        "GPUs of a node beside its processors, memory, disks and network.",
        [variable("node", "Node", "gpustack:node_ready:bool")],
        [*totals(), heading("GPUs"), *gpus(), heading("Host"), *host()],
    )
