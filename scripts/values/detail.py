"""Dashboard of single GPUs: activity, memory, clocks, heat, power, links, errors.

A line is a GPU or MIG instance. What only the board has (heat, power, clocks, links, errors) is one line of the board:
the exporter repeats it for each instance.
"""

from collections.abc import Mapping

from scripts.values.grafana import (
    Panel,
    build_heading,
    build_lines,
    build_query,
    build_table,
    build_variable,
    render_dashboard,
)

GPU_MATCHERS = 'node=~"$node",UUID=~"$UUID"'
GPU_LABELS = "node, UUID, gpu, GPU_I_ID, GPU_I_PROFILE"
GPU = "{{node}} GPU {{gpu}} {{GPU_I_PROFILE}} {{GPU_I_ID}}"
BOARD_LABELS = "node, UUID, gpu"
BOARD = "{{node}} GPU {{gpu}}"
NO_REPORT = "not told by these GPUs"


def select_series(
    name: str, *labels: str, matchers: str = "", selection: str = GPU_MATCHERS, grouping: str = GPU_LABELS
) -> str:
    """Select a recorded name without the pod, so that a line goes on when the pod changes."""
    return f"max by ({', '.join((grouping, *labels))}) (gpustack:{name}{{{selection}{matchers}}})"


def select_board_series(name: str, *labels: str) -> str:
    return select_series(name, *labels, grouping=BOARD_LABELS)


def build_figure_panel(
    title: str,
    unit: str,
    name: str,
    description: str,
    *,
    top: float | None = None,
    empty: str = NO_REPORT,
    board: bool = False,
    selection: str = GPU_MATCHERS,
    words: Mapping[int, str] | None = None,
) -> Panel:
    grouping, legend = (BOARD_LABELS, BOARD) if board else (GPU_LABELS, GPU)
    query = build_query(select_series(name, selection=selection, grouping=grouping), legend)
    return build_lines(title, unit, query, description=description, top=top, empty=empty, words=words)


def build_figures_panel(
    title: str, unit: str, description: str, *figures: tuple[str, str], empty: str = NO_REPORT, board: bool = False
) -> Panel:
    """Build a panel of several figures of each GPU, or of each board: (word, recorded name)."""
    grouping, legend = (BOARD_LABELS, BOARD) if board else (GPU_LABELS, GPU)
    return build_lines(
        title,
        unit,
        *(build_query(select_series(name, grouping=grouping), f"{legend} {word}") for word, name in figures),
        description=description,
        empty=empty,
    )


def build_activity_panels() -> list[Panel]:
    return [
        build_figures_panel(
            "SM activity and occupancy",
            "percentunit",
            "Share of the SMs that have work, and of the warps that they could hold; low occupancy is often normal.",
            ("active", "gpu_sm_active:ratio"),
            ("occupancy", "gpu_sm_occupancy:ratio"),
        ),
        build_figure_panel(
            "Engine activity",
            "percentunit",
            "gpu_active:ratio",
            "Share of time the engine works, also of MIG instances. Where it is not measured: with any kernel.",
            top=1,
        ),
        build_figure_panel(
            "Memory utilisation",
            "percentunit",
            "gpu_memory_utilisation:ratio",
            "Used of used and free. Frameworks reserve ahead: a full memory alone is no shortage.",
            top=1,
            empty="no data",
        ),
        build_figure_panel(
            "Tensor activity",
            "percentunit",
            "gpu_tensor_active:ratio",
            "Share of the cycles of tensor cores; 20 to 60 % is usual in training.",
            top=1,
        ),
        build_figure_panel(
            "Memory bandwidth activity",
            "percentunit",
            "gpu_dram_active:ratio",
            "Share of the cycles of memory; about 80 % is the most in practice.",
            top=1,
        ),
        build_figures_panel(
            "Arithmetic pipes",
            "percentunit",
            "Share of cycles with the pipe active, without tensor cores.",
            ("FP64", "gpu_fp64_active:ratio"),
            ("FP32", "gpu_fp32_active:ratio"),
            ("FP16", "gpu_fp16_active:ratio"),
        ),
        build_figures_panel(
            "Memory access, encoder, decoder",
            "percentunit",
            "Share of time in which memory was read or written at all, and in which the video engines worked.",
            ("memory access", "gpu_memory_access:ratio"),
            ("encoder", "gpu_encoder:ratio"),
            ("decoder", "gpu_decoder:ratio"),
        ),
        build_figure_panel(
            "Time with any kernel",
            "percentunit",
            "gpu_utilisation:ratio",
            "GPU utilisation as nvidia-smi has it; no load: one small endless kernel makes 100 %. Of MIG the engine's.",
            top=1,
            empty="no data",
        ),
    ]


def build_board_panels() -> list[Panel]:
    return [
        build_figures_panel(
            "Memory",
            "bytes",
            "The driver's reservation belongs to neither used nor free.",
            ("used", "gpu_memory_used:bytes"),
            ("free", "gpu_memory_free:bytes"),
            ("reserved", "gpu_memory_reserved:bytes"),
            ("total", "gpu_memory_total:bytes"),
            empty="no data",
        ),
        build_figures_panel(
            "Temperature",
            "celsius",
            "Core and memory, with the board's own thresholds.",
            ("core", "gpu_temperature:celsius"),
            ("memory", "gpu_memory_temperature:celsius"),
            ("slowdown at", "gpu_temperature_slowdown:celsius"),
            ("shutdown at", "gpu_temperature_shutdown:celsius"),
            empty="no data",
            board=True,
        ),
        build_figures_panel(
            "Power",
            "watt",
            "Draw and the limit in force.",
            ("draw", "gpu_power:watts"),
            ("limit", "gpu_power_limit:watts"),
            empty="no data",
            board=True,
        ),
        build_lines(
            "Energy of the time shown",
            "joule",
            build_query(
                f"max by ({BOARD_LABELS}) (increase(gpustack:gpu_energy:joules_total{{{GPU_MATCHERS}}}[$__range]))",
                BOARD,
            ),
            description="1 kWh is 3.6 MJ. A reload of the driver begins the counter anew, which is accounted for.",
            empty=NO_REPORT,
        ),
        build_figures_panel(
            "SM clock",
            "hertz",
            "Falls when the GPU idles; compare it under load only.",
            ("now", "gpu_sm_clock:hertz"),
            ("highest", "gpu_sm_clock_max:hertz"),
            empty="no data",
            board=True,
        ),
        build_figure_panel(
            "Memory clock",
            "hertz",
            "gpu_memory_clock:hertz",
            "Nearly constant under load.",
            empty="no data",
            board=True,
        ),
        build_lines(
            "Throttling",
            "percentunit",
            build_query(select_board_series("gpu_throttled:ratio_rate5m", "reason"), BOARD + " {{reason}}"),
            description="Share of time with lowered clocks, by reason. The power limit is normal under full load.",
            top=1,
            empty=NO_REPORT,
        ),
        build_lines(
            "Throttle reasons now",
            "none",
            build_query(select_board_series("gpu_throttle_reason:bool", "reason") + " > 0", BOARD + " {{reason}}"),
            description="1 while the driver names the reason; for GPUs that do not count the time.",
            empty="not throttled, or not told by these GPUs",
        ),
    ]


def build_link_panels() -> list[Panel]:
    return [
        build_figures_panel(
            "PCIe",
            "Bps",
            "From the GPU's view: transmit goes to the host. With headers.",
            ("transmit", "gpu_pcie_transmit:bytes_per_second"),
            ("receive", "gpu_pcie_receive:bytes_per_second"),
            board=True,
        ),
        build_figure_panel(
            "PCIe, share of the link",
            "percentunit",
            "gpu_pcie_utilisation:ratio",
            "The busier direction, of the highest generation of the link and the lanes in use. Above 25 % for long, "
            "with SMs below 50 %, copies hold the work up.",
            top=1,
            board=True,
        ),
        build_figures_panel(
            "NVLink",
            "Bps",
            "Transmit and receive where the GPU tells them apart, and all links together.",
            ("transmit", "gpu_nvlink_transmit:bytes_per_second"),
            ("receive", "gpu_nvlink_receive:bytes_per_second"),
            ("both", "gpu_nvlink_traffic:bytes_per_second"),
            empty="these GPUs have no NVLink",
            board=True,
        ),
    ]


def build_error_panels() -> list[Panel]:
    return [
        build_lines(
            "ECC errors",
            "none",
            build_query(select_board_series("gpu_ecc_errors:total", "kind"), BOARD + " {{kind}}"),
            description="Since the driver was loaded.",
            empty="these GPUs have no ECC",
        ),
        build_lines(
            "Xid errors",
            "none",
            build_query(select_board_series("gpu_xid_errors:count5m", "xid") + " > 0", BOARD + " Xid {{xid}}"),
            description="Within five minutes, by code.",
            empty="no Xid in this time",
        ),
        build_table(
            "Who has the GPU",
            (
                "Engine activity",
                "percentunit",
                select_series("gpu_active:ratio", "workload_namespace", "workload_pod", matchers=',workload_pod!=""'),
            ),
            description="Pods that the kubelet gave these GPUs to, now.",
            empty="these GPUs are free",
            height=6,
        ),
    ]


def render_detail() -> str:
    return render_dashboard(
        "gpustack-gpu-detail",
        "GPU detail",
        "Single GPUs and MIG instances: activity, memory, clocks, heat, power, links and errors.",
        [
            build_variable("node", "Node", "gpustack:gpu:info"),
            build_variable("UUID", "GPU", 'gpustack:gpu:info{node=~"$node"}'),
        ],
        [
            *(build_heading("Activity"), *build_activity_panels()),
            *(build_heading("Board"), *build_board_panels()),
            *(build_heading("Links"), *build_link_panels()),
            *(build_heading("Errors and owners"), *build_error_panels()),
        ],
    )
