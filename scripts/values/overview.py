"""Dashboard of the cluster: number, owners, load and health of GPUs, node by node."""

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

NODES = '{node=~"$node"}'
NODE = "{{node}}"
GPU = "{{node}} GPU {{gpu}}"
NO_MEASUREMENT = "these GPUs do not measure it"


def select_gpu_series(name: str) -> str:
    """Select one series for each GPU: neither pods that share one nor its MIG instances count it twice."""
    return f"max by (node, UUID) (gpustack:{name}{NODES})"


def combine_instances(aggregation: str, name: str) -> str:
    """Combine to one series for each GPU: its own, or the sum or mean of its MIG instances where only these are
    exported."""
    series = f"gpustack:{name}{NODES}"
    return (
        f'(max by (node, UUID) ({series[:-1]},GPU_I_ID=""}}) '
        f"or {aggregation} by (node, UUID) (max by (node, UUID, GPU_I_ID) ({series})))"
    )


def build_total_panels() -> list[Panel]:
    used_memory = combine_instances("sum", "gpu_memory_used:bytes")
    free_memory = combine_instances("sum", "gpu_memory_free:bytes")
    return [
        build_number(
            "GPUs",
            "none",
            f"sum(gpustack:node_gpus:count{NODES})",
            description="GPUs that report to Prometheus, by UUID.",
        ),
        build_number(
            "Allocatable",
            "none",
            f"sum(gpustack:node_gpu_allocatable:count{NODES})",
            description="What Kubernetes can give to pods; shares or MIG instances where GPUs are shared or cut.",
            empty="no GPU is offered",
        ),
        build_number(
            "Requested",
            "none",
            f"sum(gpustack:node_gpu_requested:count{NODES}) or vector(0)",
            description="What pods that have not ended ask for on these nodes.",
        ),
        build_number(
            "Requested of allocatable",
            "percentunit",
            f"sum(gpustack:node_gpu_requested:count{NODES}) / (sum(gpustack:node_gpu_allocatable:count{NODES}) > 0)",
            description="Allocation is what costs; how busy a GPU is stands below.",
            empty="nothing requested",
        ),
        build_number(
            "SM activity",
            "percentunit",
            f"avg({combine_instances('avg', 'gpu_sm_active:ratio')})",
            description="Share of the SMs that have work: mean of all GPUs that measure it, idle ones too.",
            empty=NO_MEASUREMENT,
        ),
        build_number(
            "Memory utilisation",
            "percentunit",
            f"sum({used_memory}) / (sum({used_memory}) + sum({free_memory}))",
            description="Used of used and free memory of all GPUs. Frameworks reserve ahead: full alone is no "
            "shortage.",
        ),
        build_number(
            "Power", "watt", f"sum({select_gpu_series('gpu_power:watts')})", description="Of all boards together."
        ),
        build_number(
            "Mean temperature",
            "celsius",
            f"avg({select_gpu_series('gpu_temperature:celsius')})",
            description="Of all GPUs, without memory.",
        ),
        build_number(
            "Hottest GPU",
            "celsius",
            f"max({select_gpu_series('gpu_temperature:celsius')})",
            description="Core temperature.",
        ),
        build_number(
            "Xid within five minutes",
            "none",
            f"sum(max by (node, UUID, xid) (gpustack:gpu_xid_errors:count5m{NODES})) or vector(0)",
            description="Of every class; the application's too.",
            steps={"orange": 1},
        ),
        build_number(
            "Withheld",
            "none",
            f"sum(gpustack:node_gpu_capacity:count{NODES}) - sum(gpustack:node_gpu_allocatable:count{NODES})",
            description="Capacity that the device plugin does not let Kubernetes allocate.",
            empty="no GPU is offered",
            steps={"red": 1},
        ),
        build_number(
            "Alerts",
            "none",
            'count(ALERTS{alertstate="firing",severity!="info",alertname=~"Gpu.+|.+CertificateExpiring"}) or vector(0)',
            description="Firing alerts of gpustack that are critical or warnings.",
            steps={"red": 1},
        ),
    ]


def build_node_panels() -> list[Panel]:
    used_memory = combine_instances("sum", "gpu_memory_used:bytes")
    free_memory = combine_instances("sum", "gpu_memory_free:bytes")
    return [
        build_lines(
            "GPUs by node",
            "none",
            build_query(f"gpustack:node_gpus:count{NODES}", NODE),
            description="GPUs that report, by UUID.",
        ),
        build_lines(
            "Allocation by node",
            "none",
            build_query(f"sum by (node) (gpustack:node_gpu_requested:count{NODES})", "{{node}} requested"),
            build_query(f"sum by (node) (gpustack:node_gpu_allocatable:count{NODES})", "{{node}} allocatable"),
            description="Requested and allocatable.",
        ),
        build_lines(
            "SM activity by node",
            "percentunit",
            build_query(f"avg by (node) ({combine_instances('avg', 'gpu_sm_active:ratio')})", NODE),
            description="Share of the SMs that have work: mean of the node's GPUs that measure it.",
            empty=NO_MEASUREMENT,
            top=1,
        ),
        build_lines(
            "Memory utilisation by node",
            "percentunit",
            build_query(
                f"sum by (node) ({used_memory}) / (sum by (node) ({used_memory}) + sum by (node) ({free_memory}))", NODE
            ),
            description="Used of used and free memory.",
            top=1,
        ),
        build_lines(
            "Hottest GPU by node",
            "celsius",
            build_query(f"max by (node) ({select_gpu_series('gpu_temperature:celsius')})", NODE),
            description="Core temperature.",
        ),
        build_lines(
            "Power by node",
            "watt",
            build_query(f"sum by (node) ({select_gpu_series('gpu_power:watts')})", NODE),
            description="All boards.",
        ),
    ]


def build_trouble_panels() -> list[Panel]:
    return [
        build_lines(
            "Xid errors",
            "none",
            build_query(
                f"max by (node, UUID, gpu, xid) (gpustack:gpu_xid_errors:count5m{NODES}) > 0",
                GPU + " Xid {{xid}}",
            ),
            description="Within five minutes, by code.",
            empty="no Xid in this time",
        ),
        build_lines(
            "Throttling by reason",
            "percentunit",
            build_query(
                "max by (node, UUID, gpu, reason) (gpustack:gpu_throttled:ratio_rate5m"
                f'{NODES[:-1]},reason!~".*_violation"}}) > 0',
                GPU + " {{reason}}",
            ),
            description="Share of time with lowered clocks. The power limit is normal under full load.",
            empty="not throttled, or not told by these GPUs",
            top=1,
        ),
        build_lines(
            "Uncorrected memory errors",
            "none",
            build_query(
                f'max by (node, UUID, gpu) (gpustack:gpu_ecc_errors:total{NODES[:-1]},kind="uncorrected"}})',
                GPU,
            ),
            description="Since the driver was loaded.",
            empty="these GPUs have no ECC",
        ),
        build_lines(
            "Withheld by the device plugin",
            "none",
            build_query(
                f"gpustack:node_gpu_capacity:count{NODES} - gpustack:node_gpu_allocatable:count{NODES}",
                "{{node}} {{resource}}",
            ),
            description="Capacity that cannot be allocated.",
            empty="no GPU is offered",
        ),
    ]


def build_gpu_table() -> Panel:
    return build_table(
        "GPUs",
        (
            "SM activity",
            "percentunit",
            f"max by (node, UUID, gpu, modelName) (gpustack:gpu_sm_active:ratio{NODES})",
        ),
        (
            "Memory",
            "percentunit",
            f"max by (node, UUID, gpu, modelName) (gpustack:gpu_memory_utilisation:ratio{NODES})",
        ),
        (
            "Temperature",
            "celsius",
            f"max by (node, UUID, gpu, modelName) (gpustack:gpu_temperature:celsius{NODES})",
        ),
        ("Power", "watt", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_power:watts{NODES})"),
        ("Last Xid", "none", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_last_xid:code{NODES})"),
        description="Now, one line per GPU. The last Xid stays until the exporter restarts.",
        height=12,
    )


def render_overview() -> str:
    panels = [
        build_heading("Cluster"),
        *build_total_panels(),
        build_heading("Nodes"),
        *build_node_panels(),
        build_heading("Trouble"),
        *build_trouble_panels(),
    ]
    return render_dashboard(
        "gpustack-gpu-overview",
        "GPU overview",
        "GPUs of the cluster by node: number, allocation, load, heat, power and trouble.",
        [build_variable("node", "Node", "gpustack:gpu:info")],
        [*panels, build_heading("Each GPU"), build_gpu_table()],
    )
