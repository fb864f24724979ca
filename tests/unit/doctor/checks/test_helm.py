"""Releases of ours that are not deployed, hooks, charts, definitions, namespaces; those of others are theirs."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.probes.helm import CHARTS, TIMEOUT
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import K1, K2

NO_PROCESSES = make_answer("helm.processes", "0\n", 1)
MONITORING = "monitoring"
SPEC = {"monitoring": {"enabled": True}}
TAKEN_AT = cluster.build_snapshot().started_at


def judge_check(id: str, *answers: Answer, location: str = CLUSTER, spec: Mapping[str, Any] = SPEC) -> Judgement:
    answers_by_place = {("helm.processes", "k1"): NO_PROCESSES}
    on_host = {"helm.processes": "k1", "helm.charts": "k1"}
    answers_by_place |= {(answer.probe, on_host.get(answer.probe, CLUSTER)): answer for answer in answers}
    answers_by_place |= place_answers(CLUSTER, make_answer("gpu.deployments", '{"items":[]}'))
    return evaluate(id, cluster.build_snapshot(answers_by_place, spec, (K1, K2)), location)


def build_releases(status: str, *, manager: str = "gpustack", age: int = 7200, name: str = MONITORING) -> Answer:
    """Build the recorded releases, the newest of one of them with another status, as Helm labels it for whom it
    runs."""
    before = cluster.build_answers()["helm.releases", CLUSTER]
    document = json.loads(before.stdout)
    newest = max(
        (entry["metadata"]["labels"] for entry in document["items"] if entry["metadata"]["labels"]["name"] == name),
        key=lambda labels: int(labels["version"]),
    )
    newest |= {
        "status": status,
        "createdAt": str(int(TAKEN_AT.timestamp()) - age),
        "gpustack-revision": newest["version"],
    }
    if manager == "a person":
        newest["version"] = str(int(newest["version"]) + 1)
    if manager == "another chart":
        del newest["gpustack-digest"]
    return replace(before, stdout=json.dumps(document))


@pytest.mark.parametrize(
    ("status", "helms", "state", "pending"),
    [
        ("deployed", 0, "ok", "ok"),
        ("failed", 0, "failed", "ok"),
        ("pending-upgrade", 0, "failed", "failed"),
        ("pending-install", 0, "failed", "failed"),
        ("pending-upgrade", 1, "failed", "ok"),
    ],
)
def test_a_release_that_is_not_deployed_fails(status: str, helms: int, state: str, pending: str) -> None:
    count = make_answer("helm.processes", f"{helms}\n", int(not helms))
    outcomes = [
        judge_check(id, build_releases(status), count).outcome for id in ("st-helm-failed", "helm-release-pending")
    ]
    assert outcomes == [state, pending]


@pytest.mark.parametrize(
    ("manager", "age", "reason"),
    [
        ("a person", 7200, "pending-upgrade, by a Helm that is not gpustack's and may run anywhere"),
        ("another chart", 7200, "pending-upgrade, by a Helm that is not gpustack's and may run anywhere"),
        ("gpustack", 600, "pending-upgrade, for less than the 600 s that gpustack's Helm waits"),
        ("gpustack", -60, "pending-upgrade, for less than the 600 s that gpustack's Helm waits"),
        ("gpustack", int(TAKEN_AT.timestamp()), "pending-upgrade, and no label says since when"),
    ],
)
def test_no_rollback_is_advised_while_a_helm_may_be_at_work(manager: str, age: int, reason: str) -> None:
    judgement = judge_check("helm-release-pending", build_releases("pending-upgrade", manager=manager, age=age))
    assert judgement.outcome == "unknown"
    assert judgement.reason.endswith(reason)


def test_gpustack_waits_as_long_as_its_helm_does() -> None:
    script = (Path(__file__).parents[4] / "playbooks/files/helm-release.sh").read_text()
    assert f"--timeout $(({TIMEOUT.total_seconds() // 60:.0f} * ${{TIMEOUT_FACTOR:-1}}))m" in script
    slow = {"monitoring": {"enabled": True}, "timeout_factor": 20}
    assert judge_check("helm-release-pending", build_releases("pending-upgrade"), spec=slow).outcome == "unknown"
    assert (
        judge_check("helm-release-pending", build_releases("pending-upgrade", age=12001), spec=slow).outcome == "failed"
    )


def test_the_failed_release_of_another_namespace_is_theirs() -> None:
    foreign = json.loads(build_releases("deployed").stdout)
    foreign["items"].append({"metadata": {"name": "sh.helm.release.v1.shop.v1", "namespace": "shop", "labels": {
        "name": "shop", "version": "1", "status": "failed", "owner": "helm",
    }}})  # fmt: skip
    assert judge_check("st-helm-failed", make_answer("helm.releases", json.dumps(foreign))).outcome == "ok"


def test_a_workload_that_helm_waited_for_explains_a_pending_release() -> None:
    stopped_deployment = read_case(
        "monitoring.deployments", "control-plane", ('"readyReplicas":1', '"readyReplicas":0')
    )
    assert judge_check("helm-wait-timeout", build_releases("failed"), stopped_deployment).outcome == "failed"
    assert judge_check("helm-wait-timeout", build_releases("failed")).outcome == "ok"
    for status in ("deployed", "pending-install"):
        assert judge_check("helm-wait-timeout", build_releases(status), stopped_deployment).outcome == "ok"
    id = "helm-wait-timeout -> helm-release-pending"
    assert [judge_check(id, build_releases(status)).outcome for status in ("pending-install", "failed")] == [
        "failed",
        "ok",
    ]


@pytest.mark.parametrize(
    ("case", "helms", "job", "guard"),
    [
        ("control-plane", 0, "ok", "ok"),
        ("failed", 0, "failed", "failed"),
        ("waiting", 0, "failed", "ok"),
        ("waiting", 1, "ok", "ok"),
    ],
)
def test_failed_hook_jobs_fail(case: str, helms: int, job: str, guard: str) -> None:
    jobs, count = read_case("helm.monitoring-jobs", case), make_answer("helm.processes", f"{helms}\n", int(not helms))
    finished_jobs = read_case("helm.gpu-jobs", "done")
    outcomes = [
        judge_check(id, jobs, finished_jobs, count).outcome
        for id in ("helm-hook-job-failed", "helm-hook-job-failed guard")
    ]
    assert outcomes == [job, guard]


def test_a_chart_that_is_not_reached_matters_only_where_it_is_needed() -> None:
    unreached_chart, cached_chart = read_case("helm.charts", "no-name"), read_case("helm.charts", "control-plane")
    without_releases = make_answer("helm.releases", '{"items":[]}')
    outcome, actual = summarize(judge_check("helm-repo-unreachable", without_releases, unreached_chart))
    assert outcome == "failed"
    assert actual.endswith("Could not resolve host: github.com")
    assert (
        judge_check("helm-repo-unreachable", build_releases("failed"), read_case("helm.charts", "absent")).outcome
        == "failed"
    )
    assert judge_check("helm-repo-unreachable", without_releases, cached_chart).outcome == "ok"
    assert judge_check("helm-repo-unreachable", build_releases("deployed"), unreached_chart).outcome == "ok"
    assert (
        judge_check("helm-repo-unreachable", without_releases, make_answer("helm.charts", "", 127)).outcome == "unknown"
    )
    assert judge_check("helm-repo-unreachable", without_releases, read_case("helm.charts", "slow")).outcome == "unknown"


@pytest.mark.parametrize(
    ("curl", "slow"),
    [("0.021000 000 Operation timed out; exit 28", True), ("0.000000 000 Connection timed out; exit 28", False)],
)
def test_a_slow_server_is_there(tmp_path: Path, curl: str, *, slow: bool) -> None:
    text, _, end = curl.partition(";")
    (tmp_path / "curl").write_text(f"#!/bin/sh\nprintf '{text}'\n{end}\n")
    (tmp_path / "curl").chmod(0o755)
    script = CHARTS.question.script.replace("/etc/kubernetes/admin.conf", "/dev/null")  # type: ignore[union-attr]
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CHARTS": "https://example.com/a-1.tgz"}
    process = subprocess.run(["sh", "-uc", script], capture_output=True, text=True, env=env, check=True, timeout=20)
    (chart,) = CHARTS.extract_fact(Answer(CHARTS.id, "k1", 0, process.stdout)).values()
    assert (chart.available, chart.slow, chart.reason) == (False, slow, text.split(" ", 2)[2])


def test_missing_definitions_fail() -> None:
    before = cluster.build_answers()["monitoring.definitions", CLUSTER]
    lost_definitions = replace(before, stdout=before.stdout.replace("servicemonitors.", "others."))
    assert judge_check("helm-crd-missing").outcome == "ok"
    assert judge_check("helm-crd-missing", lost_definitions).outcome == "failed"
    assert (
        judge_check("helm-crd-missing", lost_definitions, make_answer("helm.releases", '{"items":[]}')).outcome == "ok"
    )


def test_a_namespace_that_waits_for_its_objects_fails() -> None:
    stuck = read_case("kube.ending-namespaces", "stuck")
    outcome, actual = summarize(judge_check("helm-uninstall-stuck-namespace", stuck))
    assert outcome == "failed"
    assert actual.startswith("monitoring: Some content in the namespace has finalizers remaining")
    recent_namespace = replace(stuck, stdout=stuck.stdout.replace("T04:30:00Z", "T04:59:50Z"))
    assert judge_check("helm-uninstall-stuck-namespace", recent_namespace).outcome == "ok"
    foreign_namespace = replace(stuck, stdout=stuck.stdout.replace('"monitoring"', '"shop"'))
    assert judge_check("helm-uninstall-stuck-namespace", foreign_namespace).outcome == "ok"


def test_a_failed_release_explains_missing_targets() -> None:
    assert judge_check("st-helm-failed -> st-target-missing", build_releases("failed")).outcome == "failed"
    assert judge_check("st-helm-failed -> st-target-missing").outcome == "ok"
    id = "st-helm-failed -> st-no-gpu-labels"
    assert judge_check(id, build_releases("failed"), location="k1").outcome == "ok"
    operator = {"name": "gpu-operator", "version": "1", "status": "failed", "owner": "helm"}
    secret = {"name": "sh.helm.release.v1.gpu-operator.v1", "namespace": "gpu-operator", "labels": operator}
    first = {"items": [{"metadata": secret}]}
    assert judge_check(id, make_answer("helm.releases", json.dumps(first)), location="k1").outcome == "failed"
    second = json.dumps(first).replace('"version": "1"', '"version": "2"')
    assert judge_check(id, make_answer("helm.releases", second), location="k1").outcome == "ok"
