import json
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.view import View
from gpustack.steps.autoscaling.server import select_deployments
from gpustack.steps.autoscaling.step import STEP
from gpustack.steps.autoscaling.values import build_release, needs_release
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.autoscaling import ENABLED_SPEC, build_deployments, build_releases, build_snapshot
from tests.worlds.snapshots.cluster import judge_steps
from tests.worlds.snapshots.judge import judge_checks, list_failures

API = "autoscaling.external-metrics"


def find_failures(*answers: Answer, spec: dict[str, Any] = ENABLED_SPEC) -> dict[str, tuple[str, str]]:
    return list_failures(judge_checks(STEP, build_snapshot(spec, place_answers(CLUSTER, *answers))))


def test_as_the_step_leaves_it_all_holds() -> None:
    assert find_failures() == {}


def test_autoscaling_is_off_by_default() -> None:
    assert judge_steps(STEP) == []


def test_another_server_of_the_api_is_left_alone() -> None:
    """Nothing else is judged then, so that nothing is installed beside it."""
    adapter_answer = read_case(API, "adapter")
    assert find_failures(adapter_answer, make_answer("helm.releases", '{"items":[]}')) == {
        "other-server": ("monitoring/prometheus-adapter", "operator")
    }
    assert not needs_release(View(build_snapshot(changed_answers=place_answers(CLUSTER, adapter_answer)), CLUSTER))


def test_its_own_namespace_decides_whose_it_is() -> None:
    spec = {"autoscaling": {"enabled": True, "namespace": "scale"}}
    assert find_failures(spec=spec) == {"other-server": ("keda/keda-operator-metrics-apiserver", "operator")}


def test_what_the_operator_leaves_out_or_renames_is_not_missed() -> None:
    values = {"webhooks": {"enabled": False}, "operator": {"name": "scaler"}}
    snapshot = build_snapshot()
    named_snapshot = replace(snapshot, inventory=replace(snapshot.inventory, values={"keda": values}))
    assert select_deployments(View(named_snapshot, CLUSTER)).names == ("scaler", "scaler-metrics-apiserver")
    bare = replace(
        snapshot, inventory=replace(snapshot.inventory, values={"keda": {"metricsServer": {"enabled": False}}})
    )
    served_snapshot = replace(bare, answers={**bare.answers, **place_answers(CLUSTER, read_case(API, "adapter"))})
    assert set(list_failures(judge_checks(STEP, served_snapshot))) == {"chart"}


def test_before_installation_all_is_for_install() -> None:
    empty_answers = (
        make_answer("autoscaling.deployments", '{"items":[]}'),
        make_answer("helm.releases", '{"items":[]}'),
    )
    assert find_failures(read_case(API, "none"), *empty_answers) == {
        "chart": ("nothing", "install"),
        "workloads": (
            "no keda-admission-webhooks, keda-operator, keda-operator-metrics-apiserver", "install",
        ),
        "metrics-api": ("nobody serves it", "install"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "check", "actual"),
    [
        (build_releases(digest="0"), "chart", "different values"),
        (build_releases(chart="2.19.0"), "chart", "keda 2.19.0"),
        (build_deployments(keda_operator=0), "workloads", "keda-operator scaled to 0"),
        (build_deployments(keda_admission_webhooks=-1), "workloads", "no keda-admission-webhooks"),
        (read_case(API, "new"), "metrics-api", "not judged yet"),
    ],
)
def test_what_differs_is_named(answer: Answer, check: str, actual: str) -> None:
    assert {name: text for name, (text, _) in find_failures(answer).items()} == {check: actual}


def test_an_api_that_is_not_reached_is_a_fault_that_doctor_knows() -> None:
    keda_down = read_case(API, "keda-down")
    judgement = judge_checks(STEP, build_snapshot(changed_answers=place_answers(CLUSTER, keda_down)))["metrics-api"]
    assert judgement.result
    assert (judgement.result.fault, judgement.result.passing) == ("autoscaling-api-down", True)


def test_the_operators_values_count_more() -> None:
    view = View(cluster.build_snapshot(place_answers(CLUSTER, read_case(API, "none")), ENABLED_SPEC), CLUSTER)
    release = build_release(view)
    assert (release.name, release.namespace, release.chart) == ("keda", "keda", "keda")
    assert release.values == {
        "clusterName": view.spec.cluster_name,
        "clusterDomain": view.spec.kubernetes.dns_domain,
        "image": {"pullPolicy": "IfNotPresent"},
        "rbac": {"enabledCustomScaledRefKinds": False},
    }
    assert json.dumps(release.values)
