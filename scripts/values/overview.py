"""Dashboard of the cluster: how many GPUs, who has them, how busy and how well they are, node by node."""

from scripts.values.grafana import Panel, dashboard, heading, lines, number, query, table, variable

HERE = '{node=~"$node"}'
NODE = "{{node}}"
GPU = "{{node}} GPU {{gpu}}"
UNMEASURED = "these GPUs do not measure it"


def each(name: str) -> str:
    """One series for each GPU: neither pods that share one nor its MIG instances count it twice."""
    return f"max by (node, UUID) (gpustack:{name}{HERE})"


def whole(how: str, name: str) -> str:
    """One series for each GPU: its own, or of its MIG instances, where only these are exported, the sum or the mean."""
    series = f"gpustack:{name}{HERE}"
    return (
        f'(max by (node, UUID) ({series[:-1]},GPU_I_ID=""}}) '
        f"or {how} by (node, UUID) (max by (node, UUID, GPU_I_ID) ({series})))"
    )


def totals() -> list[Panel]:
    used, free = whole("sum", "gpu_memory_used:bytes"), whole("sum", "gpu_memory_free:bytes")
    return [
        number("GPUs", "none", f"sum(gpustack:node_gpus:count{HERE})", why="GPUs that report to Prometheus, by UUID."),
        number(
            "Allocatable",
            "none",
            f"sum(gpustack:node_gpu_allocatable:count{HERE})",
            why="What Kubernetes can give to pods; shares or MIG instances where GPUs are shared or cut.",
            empty="no GPU is offered",
        ),
        number(
            "Requested",
            "none",
            f"sum(gpustack:node_gpu_requested:count{HERE}) or vector(0)",
            why="What pods that have not ended ask for on these nodes.",
        ),
        number(
            "Requested of allocatable",
            "percentunit",
            f"sum(gpustack:node_gpu_requested:count{HERE}) / (sum(gpustack:node_gpu_allocatable:count{HERE}) > 0)",
            why="Allocation is what costs; how busy a GPU is stands below.",
            empty="nothing requested",
        ),
        number(
            "SM activity",
            "percentunit",
            f"avg({whole('avg', 'gpu_sm_active:ratio')})",
            why="Share of the SMs that have work: mean of all GPUs that measure it, idle ones too.",
            empty=UNMEASURED,
        ),
        number(
            "Memory utilisation",
            "percentunit",
            f"sum({used}) / (sum({used}) + sum({free}))",
            why="Used of used and free memory of all GPUs. Frameworks reserve ahead: full alone is no shortage.",
        ),
        number("Power", "watt", f"sum({each('gpu_power:watts')})", why="Of all boards together."),
        number(
            "Mean temperature", "celsius", f"avg({each('gpu_temperature:celsius')})", why="Of all GPUs, without memory."
        ),
        number("Hottest GPU", "celsius", f"max({each('gpu_temperature:celsius')})", why="Core temperature."),
        number(
            "Xid within five minutes",
            "none",
            f"sum(max by (node, UUID, xid) (gpustack:gpu_xid_errors:count5m{HERE})) or vector(0)",
            why="Of every class; the application's too.",
            steps={"orange": 1},
        ),
        number(
            "Withheld",
            "none",
            f"sum(gpustack:node_gpu_capacity:count{HERE}) - sum(gpustack:node_gpu_allocatable:count{HERE})",
            why="Capacity that the device plugin does not let Kubernetes allocate.",
            empty="no GPU is offered",
            steps={"red": 1},
        ),
        number(
            "Alerts",
            "none",
            'count(ALERTS{alertstate="firing",severity!="info",alertname=~"Gpu.+|.+CertificateExpiring"}) or vector(0)',
            why="Firing alerts of gpustack that are critical or warnings.",
            steps={"red": 1},
        ),
    ]


def by_node() -> list[Panel]:
    used, free = whole("sum", "gpu_memory_used:bytes"), whole("sum", "gpu_memory_free:bytes")
    return [
        lines("GPUs by node", "none", query(f"gpustack:node_gpus:count{HERE}", NODE), why="GPUs that report, by UUID."),
        lines(
            "Allocation by node",
            "none",
            query(f"sum by (node) (gpustack:node_gpu_requested:count{HERE})", "{{node}} requested"),
            query(f"sum by (node) (gpustack:node_gpu_allocatable:count{HERE})", "{{node}} allocatable"),
            why="Requested and allocatable.",
        ),
        lines(
            "SM activity by node",
            "percentunit",
            query(f"avg by (node) ({whole('avg', 'gpu_sm_active:ratio')})", NODE),
            why="Share of the SMs that have work: mean of the node's GPUs that measure it.",
            empty=UNMEASURED,
            top=1,
        ),
        lines(
            "Memory utilisation by node",
            "percentunit",
            query(f"sum by (node) ({used}) / (sum by (node) ({used}) + sum by (node) ({free}))", NODE),
            why="Used of used and free memory.",
            top=1,
        ),
        lines(
            "Hottest GPU by node",
            "celsius",
            query(f"max by (node) ({each('gpu_temperature:celsius')})", NODE),
            why="Core temperature.",
        ),
        lines("Power by node", "watt", query(f"sum by (node) ({each('gpu_power:watts')})", NODE), why="All boards."),
    ]


def trouble() -> list[Panel]:
    return [
        lines(
            "Xid errors",
            "none",
            query(f"max by (node, UUID, gpu, xid) (gpustack:gpu_xid_errors:count5m{HERE}) > 0", GPU + " Xid {{xid}}"),
            why="Within five minutes, by code.",
            empty="no Xid in this time",
        ),
        lines(
            "Throttling by reason",
            "percentunit",
            query(
                "max by (node, UUID, gpu, reason) (gpustack:gpu_throttled:ratio_rate5m"
                f'{HERE[:-1]},reason!~".*_violation"}}) > 0',
                GPU + " {{reason}}",
            ),
            why="Share of time with lowered clocks. The power limit is normal under full load.",
            empty="not throttled, or not told by these GPUs",
            top=1,
        ),
        lines(
            "Uncorrected memory errors",
            "none",
            query(
                f'max by (node, UUID, gpu) (gpustack:gpu_ecc_errors:total{HERE[:-1]},kind="uncorrected"}})',
                GPU,
            ),
            why="Since the driver was loaded.",
            empty="these GPUs have no ECC",
        ),
        lines(
            "Withheld by the device plugin",
            "none",
            query(
                f"gpustack:node_gpu_capacity:count{HERE} - gpustack:node_gpu_allocatable:count{HERE}",
                "{{node}} {{resource}}",
            ),
            why="Capacity that cannot be allocated.",
            empty="no GPU is offered",
        ),
    ]


def gpus() -> Panel:
    return table(
        "GPUs",
        ("SM activity", "percentunit", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_sm_active:ratio{HERE})"),
        ("Memory", "percentunit", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_memory_utilisation:ratio{HERE})"),
        ("Temperature", "celsius", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_temperature:celsius{HERE})"),
        ("Power", "watt", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_power:watts{HERE})"),
        ("Last Xid", "none", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_last_xid:code{HERE})"),
        why="Now, one line per GPU. The last Xid stays until the exporter restarts.",
        height=12,
    )


def overview() -> str:
    panels = [heading("Cluster"), *totals(), heading("Nodes"), *by_node(), heading("Trouble"), *trouble()]
    return dashboard(
        "gpustack-gpu-overview",
        "GPU overview",
        "GPUs of the cluster by node: number, allocation, load, heat, power and trouble.",
        [variable("node", "Node", "gpustack:gpu:info")],
        [*panels, heading("Each GPU"), gpus()],
    )
