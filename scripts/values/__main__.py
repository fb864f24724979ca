"""`python -m scripts.values` writes the generated files; with `--check` it names those that differ and fails."""

import sys
from pathlib import Path

from gpustack.config.usage_series import INTERVAL
from scripts.values import cluster_rules, gpu_rules, usage_rules, workload_rules
from scripts.values.capacity import capacity
from scripts.values.cost import cost
from scripts.values.detail import detail
from scripts.values.health import health
from scripts.values.job import job
from scripts.values.node import node
from scripts.values.overview import overview
from scripts.values.rule_file import rule_file
from scripts.values.upstream import listed

ROOT = Path(__file__).resolve().parents[2]
VALUES = ROOT / "values"


def files() -> dict[Path, str]:
    """Every generated file with its text."""
    recording = rule_file(
        {
            "gpustack-gpu-usage": ("30s", gpu_rules.usage()),
            "gpustack-gpu-board": ("30s", gpu_rules.board()),
            "gpustack-nodes": ("30s", cluster_rules.nodes()),
            "gpustack-gpu-jobs": ("1m", [*workload_rules.pods(), *workload_rules.jobs()]),
            "gpustack-day": ("1m", [*cluster_rules.day(), *workload_rules.days()]),
            "gpustack-usage": (f"{INTERVAL}s", usage_rules.usage()),
            "gpustack-operands": ("30s", cluster_rules.operands()),
            "gpustack-certificates": ("30s", cluster_rules.certificates()),
        }
    )
    dashboards = VALUES / "dashboards"
    return {
        VALUES / "rules" / "gpu-recording.yaml": recording,
        dashboards / "gpu-overview.json": overview(),
        dashboards / "gpu-capacity.json": capacity(),
        dashboards / "gpu-cost.json": cost(),
        dashboards / "gpu-detail.json": detail(),
        dashboards / "gpu-health.json": health(),
        dashboards / "gpu-job.json": job(),
        dashboards / "gpu-node.json": node(),
        ROOT / "scripts" / "upstream.list": listed(),
    }


def main(*, check: bool) -> int:
    stale = [path for path, text in files().items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        if not check:
            path.write_text(files()[path])
        sys.stderr.write(f"{'differs' if check else 'written'}: {path}\n")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv))
