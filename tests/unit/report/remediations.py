"""Remediation for the reports: a ladder that a guard rail refuses, and a rung that failed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from gpustack.health.fleet import select_gpus
from gpustack.health.sources import NodeOffer
from gpustack.probes.kubernetes.nodes import Node
from gpustack.remediation.act_record import Act
from gpustack.remediation.care_round import CareEntry, CareRound
from gpustack.remediation.case import Case
from gpustack.remediation.ladder import build_ladder
from gpustack.remediation.result import RemediationResult
from gpustack.remediation.target import Target
from gpustack.report.remediation import care, json, text
from tests.unit.report.drains import NODE, TAKEN_AT, make_plan
from tests.unit.report.screen import print_screen
from tests.worlds.prometheus.gpu_series import make_mixed_health


def make_case() -> Case:
    """Make the case of a GPU that fell off the bus, on a node that gpustack cordoned."""
    health = replace(make_mixed_health(), time=TAKEN_AT.timestamp())
    gpus = select_gpus(health, node="gpu1", gpu="1").gpus
    act = Act("cordon", datetime(2026, 11, 29, 23, tzinfo=UTC), "ann@desk", "reboot", ("GPU-gpu1-1",), "done")
    offer = NodeOffer({"nvidia_com_gpu": 2}, {"nvidia_com_gpu": 1})
    second_node = replace(NODE, name="gpu2", cordoned=False)
    kubelets = tuple(
        Node(name, "", name, "1.36.4", ready=True, reason="", pod_cidr="", taints=()) for name in ("gpu1", "gpu2")
    )
    return Case(
        Target("gpu1", "1"),
        health,
        gpus,
        gpus[0].verdict,
        offer,
        make_plan(),
        (NODE, second_node),
        kubelets,
        (),
        (act,),
        TAKEN_AT,
    )


def make_shown_ladder() -> RemediationResult:
    return RemediationResult(build_ladder(make_case()), only_checked=True)


def make_failed_drain() -> RemediationResult:
    reason = "GPU jobs run there: team-a/train-9cqn5 (Job train), after 1800 s"
    return RemediationResult(build_ladder(make_case()), "failed", reason, 1802.4)


def make_care_round() -> CareRound:
    reason = "it is cordoned; the next rung is drain"
    silent = CareEntry("gpu3", None, "failed", "There is no node gpu3. The cluster has: gpu1, gpu2.")
    return CareRound(
        (CareEntry("gpu1", build_ladder(make_case()), "none", reason), silent),
        ("gpu4",),
        only_checked=False,
        doubts=("gpu2: values of two exporters differ.",),
        clock_reason="the clocks are 15 min apart",
    )


RENDERINGS: dict[str, Callable[[], str]] = {
    "remediation-shown.txt": lambda: print_screen(lambda screen: text.render_human(screen, make_shown_ladder())),
    "remediation-shown.json": lambda: json.render_json(make_shown_ladder()),
    "remediation-failed.txt": lambda: print_screen(
        lambda screen: text.render_human(screen, make_failed_drain(), evidence="runs/1")
    ),
    "care.txt": lambda: print_screen(lambda screen: care.render_human(screen, make_care_round(), evidence="runs/1")),
    "care.json": lambda: care.render_json(make_care_round(), evidence="runs/1"),
    "remediation-failed.json": lambda: json.render_json(make_failed_drain(), evidence="runs/1"),
}
