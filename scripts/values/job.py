"""Dashboard of a job: its GPUs beside the application's own metrics, and beside its containers."""

from scripts.values.detail import BOARD, BOARD_LABELS, GPU, GPU_LABELS, NO_REPORT
from scripts.values.grafana import (
    Panel,
    build_heading,
    build_lines,
    build_query,
    build_table,
    build_variable,
    render_dashboard,
)

JOBS = "gpustack:gpu_active:ratio"
WORKLOAD_MATCHERS = 'workload_namespace="$namespace",workload_pod=~"$pod"'
POD_MATCHERS = 'namespace="$namespace",pod=~"$pod"'
LEGEND = f"{{{{workload_pod}}}} {GPU}"
# Series that every pod has, and recorded series; all others are the application's.
FOREIGN_SERIES = "up|ALERTS.*|(DCGM|container|go|kube|kubelet|prober|process|promhttp|python|scrape)_.+"
SERIES = f'{{{POD_MATCHERS},__name__=~"[^:]+",__name__!~"{FOREIGN_SERIES}"}}'
NO_METRIC = "choose a metric; the pods have to be scraped (a PodMonitor)"


def select_pod_series(name: str, *labels: str) -> str:
    return f"max by ({', '.join((GPU_LABELS, 'workload_pod', *labels))}) (gpustack:{name}{{{WORKLOAD_MATCHERS}}})"


def select_gpu_series(name: str, *labels: str, condition: str = "") -> str:
    """Select a figure of the board, whoever uses it. Each of its MIG instances has it, so it is one line for all."""
    grouping = ", ".join((BOARD_LABELS, *labels))
    return f"max by ({grouping}) (gpustack:{name}){condition} and on (node, UUID) {JOBS}{{{WORKLOAD_MATCHERS}}}"


def build_metric_panels() -> list[Panel]:
    def build_gpu_panel(
        title: str, unit: str, *figures: tuple[str, str], description: str, top: float | None = None
    ) -> Panel:
        queries = (build_query(select_pod_series(name), f"{LEGEND} {word}".strip()) for name, word in figures)
        return build_lines(title, unit, *queries, description=description, top=top, empty=NO_REPORT)

    timing = [f'rate({{__name__="${{timing}}_{part}",{POD_MATCHERS}}}[$__rate_interval])' for part in ("sum", "count")]
    return [
        build_gpu_panel(
            "SM activity",
            "percentunit",
            ("gpu_sm_active:ratio", ""),
            description="Share of the SMs that have work.",
            top=1,
        ),
        build_lines(
            "$metric",
            "none",
            build_query(f'{{__name__="$metric",{POD_MATCHERS}}}'),
            description="The application's metric as it is: a loss, a queue.",
            empty=NO_METRIC,
        ),
        build_gpu_panel(
            "Tensor cores and memory",
            "percentunit",
            ("gpu_tensor_active:ratio", "tensor"),
            ("gpu_dram_active:ratio", "memory"),
            description="Share of cycles. 20 to 60 % of tensor cores is usual in training; about 80 % of memory is the "
            "most.",
            top=1,
        ),
        build_lines(
            "Per second: $counter",
            "none",
            build_query(f'rate({{__name__="$counter",{POD_MATCHERS}}}[$__rate_interval])'),
            description="A counter of the application: samples, tokens, requests.",
            empty=NO_METRIC,
        ),
        build_lines(
            "Power",
            "watt",
            build_query(select_gpu_series("gpu_power:watts"), f"{BOARD} draw"),
            build_query(select_gpu_series("gpu_power_limit:watts"), f"{BOARD} limit"),
            description="Draw and the limit in force, of whole boards.",
            empty=NO_REPORT,
        ),
        build_lines(
            "Mean: $timing",
            "none",
            build_query("sum by (pod) ({}) / (sum by (pod) ({}) > 0)".format(*timing), "{{pod}}"),
            description="A histogram or summary of the application, as the time of a step: its sum by its count.",
            empty=NO_METRIC,
        ),
    ]


def build_gpu_panels() -> list[Panel]:
    return [
        build_table(
            "Its GPUs",
            ("SM activity", "percentunit", select_pod_series("gpu_sm_active:ratio", "modelName")),
            ("Engine activity", "percentunit", select_pod_series("gpu_active:ratio", "modelName")),
            ("Memory used", "bytes", select_pod_series("gpu_memory_used:bytes", "modelName")),
            description="GPUs and MIG instances that the kubelet gave to these pods, now.",
            empty="these pods have no GPU",
            height=6,
        ),
        build_lines(
            "Memory used",
            "bytes",
            build_query(select_pod_series("gpu_memory_used:bytes"), LEGEND),
            description="Frameworks reserve ahead: a full memory alone is no shortage.",
        ),
        build_lines(
            "PCIe and NVLink",
            "Bps",
            build_query(select_gpu_series("gpu_pcie_transmit:bytes_per_second"), f"{BOARD} PCIe transmit"),
            build_query(select_gpu_series("gpu_pcie_receive:bytes_per_second"), f"{BOARD} PCIe receive"),
            build_query(select_gpu_series("gpu_nvlink_transmit:bytes_per_second"), f"{BOARD} NVLink transmit"),
            build_query(select_gpu_series("gpu_nvlink_receive:bytes_per_second"), f"{BOARD} NVLink receive"),
            description="From the GPU's view: transmit leaves it.",
            empty=NO_REPORT,
        ),
        build_lines(
            "Slowed by",
            "none",
            build_query(
                select_gpu_series("gpu_throttle_reason:bool", "reason", condition=" > 0"), BOARD + " {{reason}}"
            ),
            description="What holds clocks down now. The power limit is normal under full load.",
            empty="not throttled, or not told by these GPUs",
        ),
        build_lines(
            "Xid errors",
            "none",
            build_query(select_gpu_series("gpu_xid_errors:count5m", "xid", condition=" > 0"), BOARD + " Xid {{xid}}"),
            description="Of its GPUs within five minutes, by code; another pod's on the same GPU, too.",
            empty="no Xid in this time",
        ),
    ]


def build_container_panels() -> list[Panel]:
    """Build panels of containers. Names: google/cadvisor, docs/storage/prometheus.md; the kubelet serves them."""

    def build_rate(name: str, matchers: str = ',container!=""') -> str:
        return f"sum by (pod) (rate(container_{name}_total{{{POD_MATCHERS}{matchers}}}[$__rate_interval]))"

    throttled_share = f"{build_rate('cpu_cfs_throttled_periods')} / ({build_rate('cpu_cfs_periods')} > 0)"
    return [
        build_lines(
            "Processors in use",
            "none",
            build_query(build_rate("cpu_usage_seconds"), "{{pod}}"),
            description="Cores. About one of a loader that should use many: the GPU may wait for data.",
            empty="the kubelet does not tell",
        ),
        build_lines(
            "Held back by the limit of processors",
            "percentunit",
            build_query(throttled_share, "{{pod}}"),
            description="Share of the kernel's periods in which a container had used up its limit.",
            empty="these pods have no limit of processors",
            top=1,
        ),
        build_lines(
            "Memory of the host",
            "bytes",
            build_query(
                f'sum by (pod) (container_memory_working_set_bytes{{{POD_MATCHERS},container!=""}})', "{{pod}}"
            ),
            description="What the kubelet counts against the limit.",
            empty="the kubelet does not tell",
        ),
        build_lines(
            "Network",
            "Bps",
            build_query(build_rate("network_receive_bytes", ""), "{{pod}} receive"),
            build_query(build_rate("network_transmit_bytes", ""), "{{pod}} transmit"),
            description="Of the pod's network; host network and RDMA are not among it.",
            empty="the kubelet does not tell",
        ),
    ]


def render_job() -> str:
    return render_dashboard(
        "gpustack-gpu-job",
        "GPU job",
        "GPUs of some pods beside the application's own metrics.",
        [
            build_variable("namespace", "Namespace", JOBS, key="workload_namespace", several=False),
            build_variable("pod", "Pod", f'{JOBS}{{workload_namespace="$namespace"}}', key="workload_pod"),
            build_variable(
                "metric",
                "Metric",
                SERIES,
                key="__name__",
                pattern="^(?!.*_(?:total|bucket|count|sum|created|info)$).*$",
                several=False,
            ),
            build_variable("counter", "Counter", SERIES, key="__name__", pattern="^.*_(?:total|count)$", several=False),
            build_variable("timing", "Mean of", SERIES, key="__name__", pattern="^(.*)_sum$", several=False),
        ],
        [
            *(build_heading("GPUs beside the application"), *build_metric_panels()),
            *(build_heading("GPUs"), *build_gpu_panels()),
            *(build_heading("Containers"), *build_container_panels()),
        ],
    )
