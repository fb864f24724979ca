"""The results of the daily diagnostic, by real rules on the page that kube-state-metrics printed of real Jobs."""

from pathlib import Path

import pytest
import yaml

from tests.contract.healthy_states import read_kubernetes_page
from tests.contract.promql import RULES
from tests.contract.promtool import run_promtool

NAMES = ("GpuCareFailed", "GpuCareUnknown")
RESULTS = {
    "node1": "failed",
    "node2": "skipped",
    "node3": "unknown",
    "node4": "passed",
    "node5": "skipped",
    "node6": "unknown",
    "node7": "unknown",
}
"""A test failed; GPUs were in use; no test ran; all passed; a user's pod took the GPUs; the pod's limit ended; no pod
could be made."""


def list_series(page: str) -> list[dict[str, str]]:
    lines = [line.rpartition(" ") for line in page.splitlines() if not line.startswith("#")]
    return [{"series": series, "values": f"{float(value):.0f}x10"} for series, _, value in lines]


@pytest.mark.timeout(300)
def test_each_end_of_a_job_is_its_result(tmp_path: Path) -> None:
    alerts = {node: alert for node, result in RESULTS.items() if (alert := f"GpuCare{result.title()}") in NAMES}
    probes = [
        ("gpustack:node_care_result:info", [
            f'gpustack:node_care_result:info{{node="{node}",result="{result}"}}' for node, result in RESULTS.items()
        ]),
        ('count by (alertname, node) (ALERTS{alertname=~"GpuCare.+"})', [
            f'{{alertname="{alert}",node="{node}"}}' for node, alert in alerts.items()
        ]),
    ]  # fmt: skip
    case = {
        "interval": "1m",
        "input_series": list_series(read_kubernetes_page("kube-state-metrics-jobs")),
        "promql_expr_test": [
            {"expr": expr, "eval_time": "5m", "exp_samples": [{"labels": labels, "value": 1} for labels in samples]}
            for expr, samples in probes
        ],
    }
    document = {
        "rule_files": [str(RULES / name) for name in ("gpu-recording.yaml", "gpu-alerts.yaml")],
        "evaluation_interval": "1m",
        "group_eval_order": ["gpustack-care"],
        "tests": [case],
    }
    file = tmp_path / "care.yaml"
    file.write_text(yaml.safe_dump(document))
    assert run_promtool("test", "rules", file) == ""
