"""Dashboard of single GPUs: activity, memory, clocks, heat, power, links, errors. A line is a GPU or MIG instance."""

from scripts.values.grafana import Panel, dashboard, heading, lines, query, table, variable

THESE = 'node=~"$node",UUID=~"$UUID"'
BY = "node, UUID, gpu, GPU_I_ID, GPU_I_PROFILE"
GPU = "{{node}} GPU {{gpu}} {{GPU_I_PROFILE}}"
UNREPORTED = "not told by these GPUs"


def of(name: str, *labels: str, where: str = "", these: str = THESE) -> str:
    """Without the pod, so that a line goes on when the pod changes."""
    return f"max by ({', '.join((BY, *labels))}) (gpustack:{name}{{{these}{where}}})"


def one(title: str, unit: str, name: str, why: str, *, top: float | None = None, empty: str = UNREPORTED) -> Panel:
    return lines(title, unit, query(of(name), GPU), why=why, top=top, empty=empty)


def pair(title: str, unit: str, why: str, *named: tuple[str, str], empty: str = UNREPORTED) -> Panel:
    """Several figures of each GPU in one panel: (word, recorded name)."""
    return lines(title, unit, *(query(of(name), f"{GPU} {word}") for word, name in named), why=why, empty=empty)


def activity() -> list[Panel]:
    return [
        pair(
            "SM activity and occupancy",
            "percentunit",
            "Share of the SMs that have work, and of the warps that they could hold; low occupancy is often normal.",
            ("active", "gpu_sm_active:ratio"),
            ("occupancy", "gpu_sm_occupancy:ratio"),
        ),
        one(
            "Engine activity",
            "percentunit",
            "gpu_active:ratio",
            "Share of time the engine works, also of MIG instances. Where it is not measured: with any kernel.",
            top=1,
        ),
        one(
            "Memory utilisation",
            "percentunit",
            "gpu_memory_utilisation:ratio",
            "Used of used and free. Frameworks reserve ahead: a full memory alone is no shortage.",
            top=1,
            empty="no data",
        ),
        one(
            "Tensor activity",
            "percentunit",
            "gpu_tensor_active:ratio",
            "Share of the cycles of tensor cores; 20 to 60 % is usual in training.",
            top=1,
        ),
        one(
            "Memory bandwidth activity",
            "percentunit",
            "gpu_dram_active:ratio",
            "Share of the cycles of memory; about 80 % is the most in practice.",
            top=1,
        ),
        pair(
            "Arithmetic pipes",
            "percentunit",
            "Share of cycles with the pipe active, without tensor cores.",
            ("FP64", "gpu_fp64_active:ratio"),
            ("FP32", "gpu_fp32_active:ratio"),
            ("FP16", "gpu_fp16_active:ratio"),
        ),
        pair(
            "Memory access, encoder, decoder",
            "percentunit",
            "Share of time in which memory was read or written at all, and in which the video engines worked.",
            ("memory access", "gpu_memory_access:ratio"),
            ("encoder", "gpu_encoder:ratio"),
            ("decoder", "gpu_decoder:ratio"),
        ),
        one(
            "Time with any kernel",
            "percentunit",
            "gpu_utilisation:ratio",
            "GPU utilisation as nvidia-smi has it; no load: one small endless kernel makes 100 %. Of MIG the engine's.",
            top=1,
            empty="no data",
        ),
    ]


def board() -> list[Panel]:
    return [
        pair(
            "Memory",
            "bytes",
            "The driver's reservation belongs to neither used nor free.",
            ("used", "gpu_memory_used:bytes"),
            ("free", "gpu_memory_free:bytes"),
            ("reserved", "gpu_memory_reserved:bytes"),
            ("total", "gpu_memory_total:bytes"),
            empty="no data",
        ),
        pair(
            "Temperature",
            "celsius",
            "Core and memory, with the board's own thresholds.",
            ("core", "gpu_temperature:celsius"),
            ("memory", "gpu_memory_temperature:celsius"),
            ("slowdown at", "gpu_temperature_slowdown:celsius"),
            ("shutdown at", "gpu_temperature_shutdown:celsius"),
            empty="no data",
        ),
        pair(
            "Power",
            "watt",
            "Draw and the limit in force.",
            ("draw", "gpu_power:watts"),
            ("limit", "gpu_power_limit:watts"),
            empty="no data",
        ),
        lines(
            "Energy of the time shown",
            "joule",
            query(f"increase(gpustack:gpu_energy:joules_total{{{THESE}}}[$__range])", GPU),
            why="1 kWh is 3.6 MJ. A reload of the driver begins the counter anew, which is accounted for.",
            empty=UNREPORTED,
        ),
        pair(
            "SM clock",
            "hertz",
            "Falls when the GPU idles; compare it under load only.",
            ("now", "gpu_sm_clock:hertz"),
            ("highest", "gpu_sm_clock_max:hertz"),
            empty="no data",
        ),
        one("Memory clock", "hertz", "gpu_memory_clock:hertz", "Nearly constant under load.", empty="no data"),
        lines(
            "Throttling",
            "percentunit",
            query(of("gpu_throttled:ratio_rate5m", "reason"), GPU + " {{reason}}"),
            why="Share of time with lowered clocks, by reason. The power limit is normal under full load.",
            top=1,
            empty=UNREPORTED,
        ),
        lines(
            "Throttle reasons now",
            "none",
            query(of("gpu_throttle_reason:bool", "reason") + " > 0", GPU + " {{reason}}"),
            why="1 while the driver names the reason; for GPUs that do not count the time.",
            empty="not throttled, or not told by these GPUs",
        ),
    ]


def links() -> list[Panel]:
    return [
        pair(
            "PCIe",
            "Bps",
            "From the GPU's view: transmit goes to the host. With headers.",
            ("transmit", "gpu_pcie_transmit:bytes_per_second"),
            ("receive", "gpu_pcie_receive:bytes_per_second"),
        ),
        pair(
            "NVLink",
            "Bps",
            "Transmit and receive where the GPU tells them apart, and all links together.",
            ("transmit", "gpu_nvlink_transmit:bytes_per_second"),
            ("receive", "gpu_nvlink_receive:bytes_per_second"),
            ("both", "gpu_nvlink_traffic:bytes_per_second"),
            empty="these GPUs have no NVLink",
        ),
    ]


def errors() -> list[Panel]:
    return [
        lines(
            "ECC errors",
            "none",
            query(of("gpu_ecc_errors:total", "kind"), GPU + " {{kind}}"),
            why="Since the driver was loaded.",
            empty="these GPUs have no ECC",
        ),
        lines(
            "Xid errors",
            "none",
            query(of("gpu_xid_errors:count5m", "xid") + " > 0", GPU + " Xid {{xid}}"),
            why="Within five minutes, by code.",
            empty="no Xid in this time",
        ),
        table(
            "Who has the GPU",
            (
                "Engine activity",
                "percentunit",
                of("gpu_active:ratio", "workload_namespace", "workload_pod", where=',workload_pod!=""'),
            ),
            why="Pods that the kubelet gave these GPUs to, now.",
            empty="these GPUs are free",
            height=6,
        ),
    ]


def detail() -> str:
    return dashboard(
        "gpustack-gpu-detail",
        "GPU detail",
        "Single GPUs and MIG instances: activity, memory, clocks, heat, power, links and errors.",
        [
            variable("node", "Node", "gpustack:gpu:info"),
            variable("UUID", "GPU", 'gpustack:gpu:info{node=~"$node"}'),
        ],
        [
            *(heading("Activity"), *activity()),
            *(heading("Board"), *board()),
            *(heading("Links"), *links()),
            *(heading("Errors and owners"), *errors()),
        ],
    )
