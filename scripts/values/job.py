"""Dashboard of a job: what its GPUs do beside what the application says of itself, and beside its containers."""

from scripts.values.detail import BY, GPU, UNREPORTED
from scripts.values.grafana import Panel, dashboard, heading, lines, query, table, variable

JOBS = "gpustack:gpu_active:ratio"
PODS = 'workload_namespace="$namespace",workload_pod=~"$pod"'
OWN = 'namespace="$namespace",pod=~"$pod"'
LEGEND = f"{{{{workload_pod}}}} {GPU}"
# What is there of every pod, and what is recorded; the rest is the application's.
OTHERS = "up|ALERTS.*|(DCGM|container|go|kube|kubelet|prober|process|promhttp|python|scrape)_.+"
SERIES = f'{{{OWN},__name__=~"[^:]+",__name__!~"{OTHERS}"}}'
NOTHING = "choose a metric; the pods have to be scraped (a PodMonitor)"


def of_job(name: str, *labels: str) -> str:
    return f"max by ({', '.join((BY, 'workload_pod', *labels))}) (gpustack:{name}{{{PODS}}})"


def of_its_gpus(name: str, *labels: str, above: str = "") -> str:
    """What is known of the board alone, whoever uses it. Of a MIG instance that is the whole GPU's."""
    return f"max by ({', '.join((BY, *labels))}) (gpustack:{name}){above} and on (node, UUID) {JOBS}{{{PODS}}}"


def beside() -> list[Panel]:
    def gpu(title: str, unit: str, *named: tuple[str, str], why: str, top: float | None = None) -> Panel:
        queries = (query(of_job(name), f"{LEGEND} {word}".strip()) for name, word in named)
        return lines(title, unit, *queries, why=why, top=top, empty=UNREPORTED)

    timing = [f'rate({{__name__="${{timing}}_{part}",{OWN}}}[$__rate_interval])' for part in ("sum", "count")]
    return [
        gpu("SM activity", "percentunit", ("gpu_sm_active:ratio", ""), why="Share of the SMs that have work.", top=1),
        lines(
            "$metric",
            "none",
            query(f'{{__name__="$metric",{OWN}}}'),
            why="The application's metric as it is: a loss, a queue.",
            empty=NOTHING,
        ),
        gpu(
            "Tensor cores and memory",
            "percentunit",
            ("gpu_tensor_active:ratio", "tensor"),
            ("gpu_dram_active:ratio", "memory"),
            why="Share of cycles. 20 to 60 % of tensor cores is usual in training; about 80 % of memory is the most.",
            top=1,
        ),
        lines(
            "Per second: $counter",
            "none",
            query(f'rate({{__name__="$counter",{OWN}}}[$__rate_interval])'),
            why="A counter of the application: samples, tokens, requests.",
            empty=NOTHING,
        ),
        lines(
            "Power",
            "watt",
            query(of_its_gpus("gpu_power:watts"), f"{GPU} draw"),
            query(of_its_gpus("gpu_power_limit:watts"), f"{GPU} limit"),
            why="Draw and the limit in force, of whole boards.",
            empty=UNREPORTED,
        ),
        lines(
            "Mean: $timing",
            "none",
            query("sum by (pod) ({}) / (sum by (pod) ({}) > 0)".format(*timing), "{{pod}}"),
            why="A histogram or summary of the application, as the time of a step: its sum by its count.",
            empty=NOTHING,
        ),
    ]


def gpus() -> list[Panel]:
    return [
        table(
            "Its GPUs",
            ("SM activity", "percentunit", of_job("gpu_sm_active:ratio", "modelName")),
            ("Engine activity", "percentunit", of_job("gpu_active:ratio", "modelName")),
            ("Memory used", "bytes", of_job("gpu_memory_used:bytes", "modelName")),
            why="GPUs and MIG instances that the kubelet gave to these pods, now.",
            empty="these pods have no GPU",
            height=6,
        ),
        lines(
            "Memory used",
            "bytes",
            query(of_job("gpu_memory_used:bytes"), LEGEND),
            why="Frameworks reserve ahead: a full memory alone is no shortage.",
        ),
        lines(
            "PCIe and NVLink",
            "Bps",
            query(of_job("gpu_pcie_transmit:bytes_per_second"), f"{LEGEND} PCIe transmit"),
            query(of_job("gpu_pcie_receive:bytes_per_second"), f"{LEGEND} PCIe receive"),
            query(of_job("gpu_nvlink_transmit:bytes_per_second"), f"{LEGEND} NVLink transmit"),
            query(of_job("gpu_nvlink_receive:bytes_per_second"), f"{LEGEND} NVLink receive"),
            why="From the GPU's view: transmit leaves it.",
            empty=UNREPORTED,
        ),
        lines(
            "Slowed by",
            "none",
            query(of_its_gpus("gpu_throttle_reason:bool", "reason", above=" > 0"), GPU + " {{reason}}"),
            why="What holds clocks down now. The power limit is normal under full load.",
            empty="not throttled, or not told by these GPUs",
        ),
        lines(
            "Xid errors",
            "none",
            query(of_its_gpus("gpu_xid_errors:count5m", "xid", above=" > 0"), GPU + " Xid {{xid}}"),
            why="Of its GPUs within five minutes, by code; another pod's on the same GPU, too.",
            empty="no Xid in this time",
        ),
    ]


def containers() -> list[Panel]:
    """Names: google/cadvisor, docs/storage/prometheus.md; the kubelet serves them."""

    def rate(name: str, more: str = ',container!=""') -> str:
        return f"sum by (pod) (rate(container_{name}_total{{{OWN}{more}}}[$__rate_interval]))"

    held_back = f"{rate('cpu_cfs_throttled_periods')} / ({rate('cpu_cfs_periods')} > 0)"
    return [
        lines(
            "Processors in use",
            "none",
            query(rate("cpu_usage_seconds"), "{{pod}}"),
            why="Cores. About one of a loader that should use many: the GPU may wait for data.",
            empty="the kubelet does not tell",
        ),
        lines(
            "Held back by the limit of processors",
            "percentunit",
            query(held_back, "{{pod}}"),
            why="Share of the kernel's periods in which a container had used up its limit.",
            empty="these pods have no limit of processors",
            top=1,
        ),
        lines(
            "Memory of the host",
            "bytes",
            query(f'sum by (pod) (container_memory_working_set_bytes{{{OWN},container!=""}})', "{{pod}}"),
            why="What the kubelet counts against the limit.",
            empty="the kubelet does not tell",
        ),
        lines(
            "Network",
            "Bps",
            query(rate("network_receive_bytes", ""), "{{pod}} receive"),
            query(rate("network_transmit_bytes", ""), "{{pod}} transmit"),
            why="Of the pod's network; host network and RDMA are not among it.",
            empty="the kubelet does not tell",
        ),
    ]


def job() -> str:
    return dashboard(
        "gpustack-gpu-job",
        "GPU job",
        "GPUs of some pods beside the application's own metrics.",
        [
            variable("namespace", "Namespace", JOBS, key="workload_namespace", several=False),
            variable("pod", "Pod", f'{JOBS}{{workload_namespace="$namespace"}}', key="workload_pod"),
            variable(
                "metric",
                "Metric",
                SERIES,
                key="__name__",
                kept="^(?!.*_(?:total|bucket|count|sum|created|info)$).*$",
                several=False,
            ),
            variable("counter", "Counter", SERIES, key="__name__", kept="^.*_(?:total|count)$", several=False),
            variable("timing", "Mean of", SERIES, key="__name__", kept="^(.*)_sum$", several=False),
        ],
        [
            *(heading("GPUs beside the application"), *beside()),
            *(heading("GPUs"), *gpus()),
            *(heading("Containers"), *containers()),
        ],
    )
