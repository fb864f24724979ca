"""A drain lets pods leave or stay, or refuses them, on recorded answers; selectors match labels of any kind."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.probe import Answer
from gpustack.config.spec import Spec
from gpustack.errors import InputError
from gpustack.nodes.budgets import explain_refusal, find_budgets, matches_expression, matches_pod
from gpustack.nodes.named_pods import require_patterns
from gpustack.nodes.residents import GRAFANA_LOSS, Resident, judge_residents
from gpustack.probes.kubernetes.disruption_budgets import DISRUPTION_BUDGETS, Budget, Expression
from gpustack.probes.kubernetes.node_pods import NODE_PODS, NodePod
from tests.worlds.snapshots.answers import read_case

PODS = NODE_PODS.extract_fact(read_case(NODE_PODS.id, "two-teams"))
BUDGETS = DISRUPTION_BUDGETS.extract_fact(read_case(DISRUPTION_BUDGETS.id, "two-teams"))
LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))


def find_pod(word: str) -> NodePod:
    return next(pod for pod in PODS if pod.name.startswith(word))


def judge(*ended_pods: str) -> dict[str, Resident]:
    return {
        resident.pod.name.partition("-")[0]: resident for resident in judge_residents(Spec(), PODS, BUDGETS, ended_pods)
    }


def test_each_recorded_pod_has_its_fate() -> None:
    fates = {name: (resident.fate, resident.reason) for name, resident in judge().items()}
    assert fates == {
        "exporter": ("stays", "DaemonSet"),
        "slice": ("refused", "no controller makes it anew"),
        "kube": ("stays", "static pod"),
        "cache": ("refused", "its emptyDir data, fast is lost"),
        "notebook": ("refused", "no controller makes it anew"),
        "train": ("leaves", ""),
        "web": ("leaves", ""),
    }
    figures = "budget web (minAvailable 2) allows 0 evictions: 2 healthy, 2 needed"
    assert {name: resident.budget_reason for name, resident in judge().items() if resident.budget_reason} == {
        "web": figures
    }


def build_operated_pod(**changes: Any) -> NodePod:
    """Build Alertmanager's pod of a new cluster. Constructed from prometheus-operator, pkg/alertmanager/statefulset.go
    and pkg/prometheus/statefulset.go, and the names that a drain of such a cluster showed."""
    keys = {"name": "alertmanager", "instance": "monitoring-alertmanager", "managed-by": "prometheus-operator"}
    pod = replace(
        find_pod("cache"),
        namespace="monitoring",
        name="alertmanager-monitoring-alertmanager-0",
        owner_kind="StatefulSet",
        owner="alertmanager-monitoring-alertmanager",
        labels={f"app.kubernetes.io/{key}": value for key, value in keys.items()},
        scratch_volumes=("config-out",),
    )
    return replace(pod, **changes)


def test_a_volume_that_the_operator_writes_again_is_no_loss() -> None:
    labels = build_operated_pod().labels
    prometheus = build_operated_pod(
        owner="prometheus-monitoring-prometheus",
        labels={
            **labels,
            "app.kubernetes.io/name": "prometheus",
            "app.kubernetes.io/instance": "monitoring-prometheus",
        },
    )
    for pod in (build_operated_pod(), prometheus):
        assert [(resident.fate, resident.reason) for resident in judge_residents(Spec(), [pod], ())] == [("leaves", "")]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"labels": {}}, "config-out"),
        ({"owner_kind": "ReplicaSet"}, "config-out"),
        ({"owner": "alertmanager-mine"}, "config-out"),
        ({"scratch_volumes": ("config-out", "alertmanager-monitoring-alertmanager-db")}, "alertmanager-monitoring"),
    ],
)
def test_every_other_volume_is_a_loss(changes: dict[str, Any], reason: str) -> None:
    (resident,) = judge_residents(Spec(), [build_operated_pod(**changes)], ())
    assert resident.fate == "refused"
    assert resident.reason.startswith(f"its emptyDir {reason}")


def build_grafana_pod(*volumes: str, **changes: Any) -> NodePod:
    """Build Grafana's pod of gpustack's monitoring. Constructed from grafana-community/helm-charts,
    charts/grafana/templates/_pod.tpl and _helpers.tpl, with the sidecars of dashboards and data sources."""
    pod = replace(
        find_pod("cache"),
        namespace="monitoring",
        name="monitoring-grafana-5d8f9c7b6-x2k4p",
        owner_kind="ReplicaSet",
        owner="monitoring-grafana-5d8f9c7b6",
        labels={"app.kubernetes.io/name": "grafana", "app.kubernetes.io/instance": "monitoring"},
        scratch_volumes=(*volumes, "sc-dashboard-volume", "sc-datasources-volume"),
    )
    return replace(pod, **changes)


def test_volumes_of_sidecars_are_no_loss() -> None:
    """Grafana has its database on a claim."""
    (resident,) = judge_residents(Spec(), [build_grafana_pod()], ())
    assert (resident.fate, resident.reason) == ("leaves", "")


def test_the_grafana_of_a_new_cluster_leaves_with_its_loss() -> None:
    (resident,) = judge_residents(Spec(), [build_grafana_pod("storage")], ())
    assert (resident.fate, resident.reason) == ("leaves", GRAFANA_LOSS)


@pytest.mark.parametrize(
    ("volumes", "changes"),
    [
        (("storage",), {"namespace": "team-a"}),
        (("storage",), {"owner_kind": ""}),
        (("storage",), {"labels": {"app.kubernetes.io/name": "grafana", "app.kubernetes.io/instance": "mine"}}),
        (("storage",), {"labels": {}}),
        (("storage", "reports"), {}),
        (("reports",), {}),
    ],
)
def test_volumes_that_people_added_are_a_loss(volumes: tuple[str, ...], changes: dict[str, Any]) -> None:
    (resident,) = judge_residents(Spec(), [build_grafana_pod(*volumes, **changes)], ())
    assert resident.fate == "refused"
    assert volumes[-1] in resident.reason


def test_only_the_named_pod_is_given_up() -> None:
    residents = judge("team-a/notebook")
    assert (residents["notebook"].fate, residents["slice"].fate, residents["cache"].fate) == (
        "leaves",
        "refused",
        "refused",
    )
    assert residents["notebook"].reason == "no controller makes it anew"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("team-a/*", {"cache", "notebook"}),
        ("team-a/cache-*", {"cache"}),
        ("default/slice", {"slice"}),
        ("team-b/*", set[str]()),
    ],
)
def test_a_pattern_gives_up_pods_of_its_namespace(pattern: str, names: set[str]) -> None:
    require_patterns([pattern])
    refused_names = {name for name, resident in judge(pattern).items() if resident.fate == "refused"}
    assert refused_names == {"slice", "cache", "notebook"} - names


@pytest.mark.parametrize("pattern", ["*", "*/*", "team-*/web", "notebook", "team-a/", "team-a/[a-z]", "a/b/c"])
def test_no_pattern_means_all_pods(pattern: str) -> None:
    with pytest.raises(InputError, match="no NAMESPACE/NAME"):
        require_patterns([pattern])


def test_naming_a_pod_moves_no_static_pod_and_no_daemon() -> None:
    names = [pod.full_name for pod in PODS]
    assert {name: resident.fate for name, resident in judge(*names).items() if resident.fate == "stays"} == {
        "exporter": "stays",
        "kube": "stays",
    }


def test_a_pod_that_leaves_already_is_only_waited_for() -> None:
    (resident,) = judge_residents(Spec(), [replace(find_pod("notebook"), leaves=True)], BUDGETS)
    assert (resident.fate, resident.reason, resident.budget_reason) == ("leaves", "", "")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_what_has_ended_stays(phase: str) -> None:
    (resident,) = judge_residents(
        Spec(), [replace(find_pod("notebook"), phase=phase, refusal="UnexpectedAdmissionError")], []
    )
    assert (resident.fate, resident.reason) == ("stays", "it has ended (UnexpectedAdmissionError)")


@pytest.mark.parametrize(
    ("changes", "budget_changes", "is_refused"),
    [
        ({}, {}, True),
        ({"phase": "Pending"}, {}, False),
        ({}, {"allowance": 1}, False),
        ({}, {"allowance": 1, "current": False}, True),
        ({"ready": False}, {}, False),
        ({"ready": False}, {"healthy_pods": 1}, True),
        ({"ready": False}, {"healthy_pods": 1, "always_frees_unready": True}, False),
        ({"ready": False}, {"healthy_pods": 0, "needed_pods": 0}, True),
        ({"namespace": "team-b"}, {}, False),
        ({}, {"selects_none": True}, False),
    ],
)
def test_a_budget_refuses_as_the_api_does(
    changes: dict[str, object], budget_changes: dict[str, object], *, is_refused: bool
) -> None:
    pod = replace(find_pod("web"), **changes)  # type: ignore[arg-type]
    budget = replace(next(budget for budget in BUDGETS if budget.name == "web"), **budget_changes)  # type: ignore[arg-type]
    assert bool(explain_refusal(pod, [budget])) is is_refused


def test_several_budgets_of_a_pod_forbid_its_eviction() -> None:
    budgets = [replace(budget, labels={}, expressions=(), allowance=1) for budget in BUDGETS]
    reason = "several budgets select it (any, web), and the API evicts no such pod"
    assert explain_refusal(find_pod("web"), budgets) == reason


@given(labels=LABELS, selector=LABELS)
def test_labels_of_a_selector_are_all_required(labels: dict[str, str], selector: dict[str, str]) -> None:
    budget = Budget("n", "b", "minAvailable 1", 0, 1, 1, current=True, labels=selector)
    assert matches_pod(budget, labels) is all(labels.get(key) == value for key, value in selector.items())


@given(labels=LABELS, key=st.sampled_from("abc"), values=st.lists(st.sampled_from("xyz"), min_size=1))
def test_operators_come_in_opposites(labels: dict[str, str], key: str, values: list[str]) -> None:
    def match(operator: str) -> bool:
        return matches_expression(Expression(key, operator, tuple(values)), labels)

    assert match("In") is not match("NotIn")
    assert match("Exists") is not match("DoesNotExist")
    assert match("Exists") or not match("In")


def test_an_operator_that_the_api_does_not_have_is_no_match() -> None:
    with pytest.raises(ValueError, match="Near"):
        matches_expression(Expression("a", "Near"), {})


def test_a_budget_is_of_its_namespace() -> None:
    assert [budget.name for budget in find_budgets(find_pod("cache"), BUDGETS)] == ["any"]
    assert find_budgets(replace(find_pod("cache"), namespace="team-b"), BUDGETS) == ()


def test_the_answer_of_an_api_without_budgets_is_no_budget() -> None:
    assert DISRUPTION_BUDGETS.extract_fact(Answer(DISRUPTION_BUDGETS.id, "", 0, '{"items":[]}')) == ()
