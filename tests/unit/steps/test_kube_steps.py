"""Checks of the steps that make the cluster hold on a healthy one, and guess nothing."""

from dataclasses import replace

import pytest

from gpustack.ask.judge import Check
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.steps import alerts, dashboards, flannel, helm, storage, taint, workers
from gpustack.steps.control_plane import step as control_plane
from gpustack.steps.monitoring import step as monitoring
from gpustack.steps.step import Step
from tests.worlds.snapshots.answers import read_case
from tests.worlds.snapshots.cluster import K1, K2, build_snapshot, judge_steps
from tests.worlds.snapshots.judge import judge_check

STEPS = (control_plane.STEP, flannel.STEP, workers.STEP)
MONITORED_STEPS = (helm.STEP, storage.STEP, monitoring.STEP, dashboards.STEP, alerts.STEP)
CHECKS = [(step, check) for step in (*STEPS, *MONITORED_STEPS) for check in step.checks]
# Of hosts, asked by a step of the cluster: one that cannot tell is judged for that by its own step.
OF_HOSTS = {"network.listeners", "gpu.devices"}
every_check = pytest.mark.parametrize(
    ("step", "check"), CHECKS, ids=lambda value: getattr(value, "id", None) or value.__name__
)


def build_view(step: Step, base: Snapshot) -> View:
    return View(base, CLUSTER if step.scope == "cluster" else "k2")


@every_check
def test_each_check_holds_on_a_healthy_cluster(step: Step, check: Check) -> None:
    judgement = judge_check(check, build_view(step, build_snapshot({}, {}, (K1, K2))))
    assert judgement.outcome == "ok", judgement.result or judgement.reason


# They read nothing where the spec has nothing to compare.
WITHOUT_SPEC = ("address", "receiver_secrets", "alertmanager_egress")


@every_check
def test_each_check_is_unknown_without_a_fact_it_reads(step: Step, check: Check) -> None:
    snapshot = build_snapshot({}, {"kubernetes": {"version": "1.36.4", "cert_sans": ["k1"]}}, (K1, K2))
    view = View(snapshot, build_view(step, snapshot).location)
    check(view)
    assert view.reads or check.__name__ in WITHOUT_SPEC, "a check that reads nothing can only say what it thinks"
    for probe, location in view.reads:
        if step.scope == "cluster" and probe.id in OF_HOSTS:
            continue
        place = CLUSTER if probe.scope == "cluster" else location
        answers = {key: answer for key, answer in snapshot.answers.items() if key != (probe.id, place)}
        judgement = judge_check(check, View(replace(snapshot, answers=answers), view.location))
        assert judgement.outcome == "unknown", probe.id


@every_check
def test_each_check_reads_only_what_its_step_asks(step: Step, check: Check) -> None:
    view = build_view(step, build_snapshot({}, {}, (K1, K2)))
    check(view)
    assert {probe.id for probe, _ in view.reads} <= {probe.id for probe in step.probes}


@every_check
def test_each_check_says_what_it_looks_at(step: Step, check: Check) -> None:
    assert check.__doc__


def test_fresh_hosts_are_due_and_what_stands_behind_waits() -> None:
    probes = ("kube.readyz", "kube.version", "kube.nodes", "kube.deployments", "kubeadm.settings")
    cluster = ("flannel.daemon-set", "flannel.net-conf")
    hosts = ("kubeadm.files", "kubeadm.certificates", "kubeadm.listeners", "kubelet.health", "flannel.host")
    answers = {(probe, CLUSTER): read_case(probe, "fresh") for probe in (*probes, *cluster)}
    answers |= {(probe, host): read_case(probe, "fresh") for probe in hosts for host in ("k1", "k2")}
    step_states = {state.step: state for state in judge_steps(*STEPS, answers=answers)}
    assert step_states["control-plane"].outcome == "failed"
    assert {mismatch.cure for state in step_states.values() for mismatch in state.differences} == {"install"}
    assert (step_states["workers"].outcome, step_states["flannel"].outcome) == ("failed", "failed")


def test_a_step_is_for_its_hosts() -> None:
    alone = [state.step for state in judge_steps(*STEPS, taint.STEP, hosts=(K1,))]
    assert alone == ["control-plane", "flannel", "taint"]
    assert [(state.step, state.location) for state in judge_steps(*STEPS, taint.STEP)] == [
        ("control-plane", CLUSTER), ("flannel", CLUSTER), ("workers", "k2"),
    ]  # fmt: skip
