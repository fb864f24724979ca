"""`python -m scripts.values` writes the generated files; with `--check` it names those that differ and fails."""

import sys
from pathlib import Path

from gpustack.vocabulary.usage_series import INTERVAL
from scripts.values import (
    care_rules,
    certificate_rules,
    cluster_rules,
    gpu_rules,
    proof_rules,
    usage_rules,
    verdict_rules,
    workload_rules,
)
from scripts.values.capacity import render_capacity
from scripts.values.cost import render_cost
from scripts.values.coverage import PAGE, render_page
from scripts.values.detail import render_detail
from scripts.values.health import render_health
from scripts.values.job import render_job
from scripts.values.needs import render_alert_needs
from scripts.values.node import render_node
from scripts.values.overview import render_overview
from scripts.values.rule_file import render_rule_file
from scripts.values.upstream import render_list

ROOT = Path(__file__).resolve().parents[2]
VALUES = ROOT / "values"


def render_files() -> dict[Path, str]:
    """Render every generated file."""
    recording = render_rule_file(
        {
            "gpustack-gpu-usage": ("30s", gpu_rules.build_usage_rules()),
            "gpustack-gpu-board": ("30s", gpu_rules.build_board_rules()),
            "gpustack-nodes": ("30s", cluster_rules.build_node_rules()),
            "gpustack-verdicts": ("1m", verdict_rules.build_verdict_rules()),
            "gpustack-gpu-jobs": ("1m", [*workload_rules.build_pod_rules(), *workload_rules.build_job_rules()]),
            "gpustack-day": ("1m", [*cluster_rules.build_day_rules(), *workload_rules.build_day_rules()]),
            "gpustack-half-hours": (
                "30m",
                [*cluster_rules.build_half_hour_rules(), *workload_rules.build_half_hour_rules()],
            ),
            "gpustack-usage": (f"{INTERVAL}s", usage_rules.build_usage_rules()),
            "gpustack-operands": ("30s", cluster_rules.build_operand_rules()),
            "gpustack-certificates": ("30s", certificate_rules.build_certificate_rules()),
            "gpustack-care": ("1m", care_rules.build_care_rules()),
            "gpustack-proofs": ("1m", proof_rules.build_proof_rules()),
        }
    )
    dashboards = VALUES / "dashboards"
    return {
        VALUES / "rules" / "gpu-recording.yaml": recording,
        dashboards / "gpu-overview.json": render_overview(),
        dashboards / "gpu-capacity.json": render_capacity(),
        dashboards / "gpu-cost.json": render_cost(),
        dashboards / "gpu-detail.json": render_detail(),
        dashboards / "gpu-health.json": render_health(),
        dashboards / "gpu-job.json": render_job(),
        dashboards / "gpu-node.json": render_node(),
        ROOT / "gpustack" / "versions" / "alert-needs.csv": render_alert_needs(),
        ROOT / "scripts" / "upstream.list": render_list(),
        PAGE: render_page(),
    }


def main(*, check: bool) -> int:
    stale_paths = [path for path, text in render_files().items() if not path.is_file() or path.read_text() != text]
    for path in stale_paths:
        if not check:
            path.write_text(render_files()[path])
        sys.stderr.write(f"{'differs' if check else 'written'}: {path}\n")
    return int(check and bool(stale_paths))


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv))
