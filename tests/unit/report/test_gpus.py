"""GPUs in a report: how many, and pods that the kubelet refused for want of one."""

import io
from collections.abc import Mapping
from typing import Any

from gpustack.ask.probe import CLUSTER
from gpustack.probes.gpu.cluster import Pod
from gpustack.report import human, json
from gpustack.report.terminal import Terminal
from gpustack.rollout.gpus import Gpus
from gpustack.rollout.plan import Plan, plan
from gpustack.steps import STEPS
from gpustack.steps.gpu.exporter import count_series, merge_counters
from tests.worlds.snapshots.answers import make_answer, read_case
from tests.worlds.snapshots.gpus import build_snapshot

STRANDED_PODS = ("gpu.stranded-pods", CLUSTER)


def plan_operator(changes: Mapping[tuple[str, str], Any]) -> Plan:
    return plan(build_snapshot(changes), [step for step in STEPS if step.id == "gpu-operator"])


def print_plan(plan_to_print: Plan) -> str:
    stream = io.StringIO()
    human.render_plan(Terminal(stream, width=120, color_system=None), plan_to_print)
    return stream.getvalue()


def test_without_stranded_pods_nothing_is_reported() -> None:
    plan = plan_operator({STRANDED_PODS: read_case(STRANDED_PODS[0], "none")})
    assert "4 GPUs on 2 hosts, 4 allocatable" in print_plan(plan)
    assert "UnexpectedAdmissionError" not in print_plan(plan)


def test_what_is_not_counted_is_reported_with_the_reason() -> None:
    plan = plan_operator(
        {
            ("gpu.devices", "k1"): read_case("gpu.devices", "two-of-four-for-virtual-machines"),
            ("gpu.devices", "k2"): read_case("gpu.devices", "display-card-beside-two"),
        }
    )
    text = print_plan(plan)
    count = count_series(merge_counters(()))
    head = f"4 GPUs on 2 hosts, 4 allocatable; {count} series in Prometheus expected for each GPU"
    assert f"{head}\n  not counted: k1 0000:3d:00.0: bound to vfio-pci\n" in text
    assert "k2 0000:03:00.0: 10de:128b is older than Turing, and nvidia does not drive it" in text
    assert "k1 0000:5d:00.0: bound to vfio-pci" in json.render_plan(plan)


def test_those_that_got_no_gpu_are_reported_with_the_command_and_no_others() -> None:
    plan = plan_operator({STRANDED_PODS: read_case(STRANDED_PODS[0], "others")})
    assert plan.converged
    assert "1 pod that got no GPU (UnexpectedAdmissionError), Failed until deleted:" in print_plan(plan)
    assert "  kubectl -n team delete pod train-0\n" in print_plan(plan)
    assert '"stranded_pod_commands": [\n      "kubectl -n team delete pod train-0"\n    ]' in json.render_plan(plan)


def test_each_namespace_has_one_command() -> None:
    pods = [Pod("b", "two", "h1"), Pod("a", "x", "h1"), Pod("b", "one", "h2")]
    assert Gpus(0, 0, None, tuple(pods)).removal_commands == [
        "kubectl -n a delete pod x",
        "kubectl -n b delete pod one two",
    ]


def test_what_is_unknown_is_no_pod() -> None:
    assert "4 GPUs on 2 hosts" in print_plan(plan_operator({STRANDED_PODS: make_answer(STRANDED_PODS[0], "", 1)}))
