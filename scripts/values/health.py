"""Dashboard of health: memory repairs, links, drivers' verdicts, and what Kubernetes and the operator say."""

from scripts.values.detail import GPU, THESE, of, one, pair
from scripts.values.grafana import Panel, dashboard, heading, lines, query, table, variable

HERE = '{node=~"$node"}'


def memory() -> list[Panel]:
    return [
        lines(
            "ECC errors in the life of the board",
            "none",
            query(of("gpu_ecc_errors_lifetime:total", "kind"), GPU + " {{kind}}"),
            why="An old number is history; what counts is growth.",
            empty="these GPUs have no ECC",
        ),
        lines(
            "Remapped rows",
            "none",
            query(of("gpu_remapped_rows:total", "kind"), GPU + " {{kind}}"),
            why="Ampere and later. After a reset a remapped row is a repaired one.",
            empty="not told by these GPUs, or by GPUs with MIG instances",
        ),
        pair(
            "Memory repair",
            "none",
            "1: failed, waiting for a reset, unrepairable, or beyond the SRAM threshold.",
            ("remap failed", "gpu_row_remap_failed:bool"),
            ("remap pending", "gpu_row_remap_pending:bool"),
            ("unrepairable", "gpu_memory_unrepairable:bool"),
            ("SRAM threshold passed", "gpu_sram_threshold_passed:bool"),
            ("page retirement pending", "gpu_page_retirement_pending:bool"),
        ),
        one(
            "Banks without a spare row",
            "none",
            "gpu_banks_without_spare_rows:number",
            "The next fault in such a bank cannot be remapped.",
        ),
        lines(
            "Retired pages",
            "none",
            query(of("gpu_retired_pages:total", "kind"), GPU + " {{kind}}"),
            why="Before Ampere; 64 is the end.",
            empty="Ampere and later remap rows instead",
        ),
        one("ECC on", "none", "gpu_ecc_on:bool", "0 where errors go unseen.", empty="these GPUs have no ECC"),
    ]


def links() -> list[Panel]:
    return [
        lines(
            "PCIe replays per minute",
            "none",
            query(f"rate(gpustack:gpu_pcie_replays:total{{{THESE}}}[$__rate_interval]) * 60", GPU),
            why="A few are normal; how many depends on generation and lanes.",
            empty="not told by these GPUs",
        ),
        pair(
            "PCIe link",
            "none",
            "The generation may fall while a GPU idles; the number of lanes should not.",
            ("generation", "gpu_pcie_generation:number"),
            ("of", "gpu_pcie_generation_max:number"),
            ("lanes", "gpu_pcie_lanes:number"),
            ("lanes of", "gpu_pcie_lanes_max:number"),
        ),
        lines(
            "NVLink errors",
            "none",
            query(of("gpu_nvlink_errors:total", "kind"), GPU + " {{kind}}"),
            why="A new replay or recovery is a fault to DCGM; so are 100 CRC errors per second.",
            empty="these GPUs have no NVLink",
        ),
        one(
            "Fabric Manager",
            "none",
            "gpu_fabric_manager:state",
            "1 not started, 2 in progress, 3 success, 4 failure; 0 where there is no NVSwitch.",
        ),
    ]


def verdicts() -> list[Panel]:
    return [
        one(
            "Recovery action",
            "none",
            "gpu_recovery_action:code",
            "What the driver asks for: 0 nothing, 1 reset, 2 reboot, 3 drain peer-to-peer work, 4 drain and reset.",
        ),
        one(
            "Distance to slowdown",
            "celsius",
            "gpu_temperature_margin:celsius",
            "To the nearest threshold, not a limit itself.",
        ),
        lines(
            "Exporter answers",
            "none",
            query(f"gpustack:node_gpu_exporter:up{HERE}", "{{node}}"),
            why="1 while the node's exporter can be scraped.",
            empty="no exporter is scraped",
            top=1,
        ),
        lines(
            "Operands that are not ready",
            "none",
            query("gpustack:operand_missing:count", "{{namespace}} {{operand}}"),
            why="Pods that should be ready and are not, by DaemonSet or Deployment.",
            empty="no operands are known",
        ),
        lines(
            "Kubelet certificates",
            "s",
            query(f"gpustack:node_kubelet_certificate:seconds{HERE}", "{{node}}"),
            why="Until they end. A healthy kubelet renews when at least 36 days of a year are left.",
            empty="kubelets do not tell",
        ),
        lines(
            "Requests with old client certificates",
            "none",
            query("gpustack:cluster_client_certificates_expiring:rate5m", "ends within {{within}}"),
            why="Requests per second to the API whose certificate ends soon. Blind for serving certificates.",
            empty="the API server is not scraped",
        ),
        table(
            "Last Xid",
            ("Xid", "none", f"max by (node, UUID, gpu, modelName) (gpustack:gpu_last_xid:code{{{THESE}}})"),
            why="The last code of each GPU, whenever that was; it stays until the exporter restarts.",
            empty="no Xid since the exporters started",
            height=6,
        ),
    ]


def health() -> str:
    return dashboard(
        "gpustack-gpu-health",
        "GPU health",
        "Memory repairs, links, verdicts of drivers, and what Kubernetes and the GPU operator say.",
        [
            variable("node", "Node", "gpustack:gpu:info"),
            variable("UUID", "GPU", 'gpustack:gpu:info{node=~"$node"}'),
        ],
        [
            *(heading("Memory"), *memory()),
            *(heading("Links"), *links()),
            *(heading("Verdicts"), *verdicts()),
        ],
    )
