"""Dashboard of health: memory repairs, links, drivers' verdicts, and the state of Kubernetes and the operator."""

import re

from gpustack.gpus.fleet import ACTIONS
from gpustack.health.sign import VERDICTS
from gpustack.vocabulary.fields import find_fields
from scripts.values.detail import (
    BOARD,
    BOARD_LABELS,
    GPU_MATCHERS,
    build_figure_panel,
    build_figures_panel,
    select_board_series,
)
from scripts.values.grafana import (
    Panel,
    build_heading,
    build_lines,
    build_query,
    build_table,
    build_variable,
    render_dashboard,
)

NODES = '{node=~"$node"}'


def build_memory_panels() -> list[Panel]:
    return [
        build_lines(
            "ECC errors in the life of the board",
            "none",
            build_query(select_board_series("gpu_ecc_errors_lifetime:total", "kind"), BOARD + " {{kind}}"),
            description="An old number is history; what counts is growth.",
            empty="these GPUs have no ECC",
        ),
        build_lines(
            "Remapped rows",
            "none",
            build_query(select_board_series("gpu_remapped_rows:total", "kind"), BOARD + " {{kind}}"),
            description="Ampere and later. After a reset a remapped row is a repaired one.",
            empty="not told by these GPUs, or by GPUs with MIG instances",
        ),
        build_figures_panel(
            "Memory repair",
            "none",
            "1: failed, waiting for a reset, unrepairable, or beyond the SRAM threshold.",
            ("remap failed", "gpu_row_remap_failed:bool"),
            ("remap pending", "gpu_row_remap_pending:bool"),
            ("unrepairable", "gpu_memory_unrepairable:bool"),
            ("SRAM threshold passed", "gpu_sram_threshold_passed:bool"),
            ("page retirement pending", "gpu_page_retirement_pending:bool"),
            board=True,
        ),
        build_figure_panel(
            "Banks without a spare row",
            "none",
            "gpu_banks_without_spare_rows:number",
            "The next fault in such a bank cannot be remapped.",
            board=True,
        ),
        build_lines(
            "Retired pages",
            "none",
            build_query(select_board_series("gpu_retired_pages:total", "kind"), BOARD + " {{kind}}"),
            description="Before Ampere; 64 is the end.",
            empty="Ampere and later remap rows instead",
        ),
        build_figure_panel(
            "ECC on",
            "none",
            "gpu_ecc_on:bool",
            "0 where errors go unseen.",
            empty="these GPUs have no ECC",
            board=True,
        ),
    ]


def build_link_panels() -> list[Panel]:
    return [
        build_lines(
            "PCIe replays per minute",
            "none",
            build_query(
                f"max by ({BOARD_LABELS}) "
                f"(rate(gpustack:gpu_pcie_replays:total{{{GPU_MATCHERS}}}[$__rate_interval])) * 60",
                BOARD,
            ),
            description="A few are normal; how many depends on generation and lanes.",
            empty="not told by these GPUs",
        ),
        build_figures_panel(
            "PCIe link",
            "none",
            "The generation may fall while a GPU idles; the number of lanes should not.",
            ("generation", "gpu_pcie_generation:number"),
            ("of", "gpu_pcie_generation_max:number"),
            ("lanes", "gpu_pcie_lanes:number"),
            ("lanes of", "gpu_pcie_lanes_max:number"),
            board=True,
        ),
        build_lines(
            "NVLink errors",
            "none",
            build_query(select_board_series("gpu_nvlink_errors:total", "kind"), BOARD + " {{kind}}"),
            description="A new replay or recovery is a fault to DCGM; so are 100 CRC errors per second.",
            empty="these GPUs have no NVLink",
        ),
        build_figure_panel(
            "Fabric Manager",
            "none",
            "gpu_fabric_manager:state",
            "State of the Fabric Manager; not supported where there is no NVSwitch.",
            board=True,
            words=read_words("DCGM_FI_DEV_FABRIC_MANAGER_STATUS"),
        ),
    ]


def read_words(name: str) -> dict[int, str]:
    """Read the words for the values of an enumerated DCGM field from its description."""
    return {int(code): word for code, word in re.findall(r"(\d+) ([^,.]+)", find_fields(name)[0].meaning)}


def build_verdict_panels() -> list[Panel]:
    return [
        build_figure_panel(
            "Verdict",
            "none",
            "gpu_verdict:rank",
            "By the sources in Prometheus, from the least to the most: " + ", ".join(VERDICTS) + ".",
            board=True,
            words=dict(enumerate(VERDICTS)),
        ),
        build_figure_panel(
            "Recovery action",
            "none",
            "gpu_recovery_action:code",
            "What the driver asks for.",
            board=True,
            words={0: "nothing"} | ACTIONS,
        ),
        build_figure_panel(
            "Distance to slowdown",
            "celsius",
            "gpu_temperature_margin:celsius",
            "To the nearest threshold, not a limit itself.",
            board=True,
        ),
        build_lines(
            "Exporter answers",
            "none",
            build_query(f"gpustack:node_gpu_exporter:up{NODES}", "{{node}}"),
            description="1 while the node's exporter can be scraped.",
            empty="no exporter is scraped",
            top=1,
        ),
        build_lines(
            "Operands that are not ready",
            "none",
            build_query("gpustack:operand_missing:count", "{{namespace}} {{operand}}"),
            description="Pods that should be ready and are not, by DaemonSet or Deployment.",
            empty="no operands are known",
        ),
        build_lines(
            "Kubelet certificates",
            "s",
            build_query(f"gpustack:node_kubelet_certificate:seconds{NODES}", "{{node}}"),
            description="Until they end. A healthy kubelet renews when at least 36 days of a year are left.",
            empty="kubelets do not tell",
        ),
        build_lines(
            "Requests with old client certificates",
            "none",
            build_query("gpustack:cluster_client_certificates_expiring:rate5m", "ends within {{within}}"),
            description="Requests per second to the API whose certificate ends soon. Blind for serving certificates.",
            empty="the API server is not scraped",
        ),
        build_table(
            "Last Xid",
            ("Xid", "none", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_last_xid:code{{{GPU_MATCHERS}}})"),
            description="The last code of each GPU, whenever that was; it stays until the exporter restarts.",
            empty="no Xid since the exporters started",
            height=6,
        ),
    ]


def render_health() -> str:
    return render_dashboard(
        "gpustack-gpu-health",
        "GPU health",
        "Memory repairs, links, verdicts of drivers, and what Kubernetes and the GPU operator say.",
        [
            build_variable("node", "Node", "gpustack:gpu:info"),
            build_variable("UUID", "GPU", 'gpustack:gpu:info{node=~"$node"}'),
        ],
        [
            *(build_heading("Memory"), *build_memory_panels()),
            *(build_heading("Links"), *build_link_panels()),
            *(build_heading("Verdicts"), *build_verdict_panels()),
        ],
    )
