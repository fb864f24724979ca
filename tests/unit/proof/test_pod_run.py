"""Pods are created, followed and removed, whatever the API says."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gpustack.proof.pod import ApiRefused
from gpustack.proof.pod_run import Cluster, PodRun
from gpustack.proof.workload import PodResult, build_proof_pod
from tests.worlds.programs.pod_api import PodApi, build_status, make_run


def build(name: str, node: str, run: str) -> dict[str, Any]:
    return build_proof_pod(name, node, run, 60)


def judge(cluster: Cluster, pod: PodResult) -> PodResult:
    return replace(pod, stage="held") if pod.stage == "running" else pod


def list_stages(run: PodRun) -> list[tuple[str, str]]:
    return [(pod.stage, pod.reason) for pod in run.pods.values()]


def refuse_second(api: PodApi) -> None:
    """Refuse the pods after the first one."""
    api.refuses = lambda asked_verb: "exceeded quota" if asked_verb == "create" and api.pods else ""


def test_a_pod_that_is_refused_ends_the_run_unless_others_are_enough() -> None:
    api = PodApi()
    refuse_second(api)
    run = make_run(api)
    with pytest.raises(ApiRefused, match="exceeded quota"):
        run.create("proof", {"gpu1": 2}, build)
    assert (run.remove(), api.removals) == ("", 1)


def test_a_partial_run_follows_the_pods_that_were_created() -> None:
    api = PodApi()
    refuse_second(api)
    run = make_run(api)
    run.create("proof", {"gpu1": 1, "gpu2": 1}, build, partial=True)
    assert run.follow(judge) == ""
    assert list_stages(run) == [("held", ""), ("stuck", "exceeded quota")]


def test_an_interruption_creates_no_more_pods() -> None:
    api = PodApi()
    run = make_run(api, find_stop_reason=lambda: "interrupted" if api.pods else "")
    run.create("proof", {"gpu1": 3}, build)
    assert run.follow(judge) == "interrupted"
    assert (len(api.pods), list_stages(run)) == (1, [("stuck", "interrupted")] * 3)
    assert (run.remove(), api.removals) == ("", 1)


def test_an_api_that_stays_away_is_the_reason() -> None:
    api = PodApi(refuses=lambda asked_verb: "the API was not reached" if asked_verb in ("list", "remove") else "")
    run = make_run(api, start_limit=30)
    run.create("proof", {"gpu1": 1}, build)
    assert run.follow(judge) == "the API was not reached"
    assert list_stages(run) == [("stuck", "the API was not reached")]
    assert 30 < api.time <= 40
    assert [event.message for event in api.events if event.kind == "note"] == [
        "the pods could not be looked at: the API was not reached"
    ]
    assert run.remove() == run.remaining == "the API was not reached"


def test_nothing_is_removed_where_nothing_was_created() -> None:
    api = PodApi(refuses=lambda asked_verb: "the API was not reached" if asked_verb == "open" else "")
    run = make_run(api)
    with pytest.raises(ApiRefused):
        run.create("proof", {"gpu1": 1}, build)
    assert (run.remove(), api.connections) == ("", 1)


@pytest.mark.parametrize(
    ("pod_status", "warning", "reason"),
    [
        ({"phase": "Pending"}, "", "it did not start within 35 s"),
        ({"phase": "Pending"}, "FailedMount: none", "FailedMount: none"),
        (build_status(waiting={"reason": "ErrImagePull", "message": "not found"}), "", "ErrImagePull: not found"),
    ],
)
def test_a_pod_that_does_not_start_has_a_reason(pod_status: Mapping[str, Any], warning: str, reason: str) -> None:
    api = PodApi(statuses={0: pod_status}, warning=warning)
    run = make_run(api, start_limit=30)
    run.create("proof", {"gpu1": 2}, build)
    assert run.follow(judge) == ""
    assert list_stages(run) == [("stuck", reason), ("held", "")]
