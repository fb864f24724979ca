"""Labels and taints of nodes: what differs, what belongs to somebody else, and what the role is given."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.config.host import Host, HostSpec
from gpustack.steps.node_labels import STEP, build_variables
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import K1, K2, build_snapshot, judge

POOL, TEAM = "example.com/pool", "example.com/team"
MARKS: dict[str, Any] = {
    "gpustack_labels": {POOL: "research"},
    "gpustack_taints": (f"{TEAM}=research:NoSchedule",),
}
Outcome = dict[str, tuple[str, str]]


def set_marks(**marks: Any) -> tuple[Host, Host]:
    """The two hosts, with labels and taints of the second one."""
    return K1, replace(K2, spec=HostSpec.model_validate(marks))


def find_failures(case: str, *edits: tuple[str, str], **marks: Any) -> Outcome:
    """Map failed checks to what they found, and who resolves it."""
    answers = place_answers(CLUSTER, read_case("node.labels", case, *edits))
    judgements = judge(STEP, answers, hosts=set_marks(**marks))
    assert all(judgement.outcome != "unknown" for judgement in judgements.values())
    return {
        check: (judgement.result.actual, judgement.result.cure)
        for check, judgement in judgements.items()
        if judgement.result
    }


def list_variables(case: str, *edits: tuple[str, str], **marks: Any) -> list[dict[str, Any]]:
    answers = place_answers(CLUSTER, read_case("node.labels", case, *edits))
    nodes: list[dict[str, Any]] = build_variables(View(build_snapshot(answers, hosts=set_marks(**marks)), CLUSTER))[
        "nodes"
    ]
    return nodes


def test_without_labels_and_taints_in_the_inventory_nothing_differs() -> None:
    assert find_failures("usual") == {}
    assert list_variables("usual") == []


def test_what_the_role_has_set_holds() -> None:
    assert find_failures("applied", **MARKS) == {}
    assert list_variables("applied", **MARKS) == []


def test_what_the_node_lacks_is_for_install() -> None:
    assert find_failures("usual", **MARKS) == {
        "labels": (f"k2: {POOL}=none instead of research", "install"),
        "taints": (f"k2: without {TEAM}=research:NoSchedule", "install"),
    }
    (node,) = list_variables("usual", **MARKS)
    taint = {"key": TEAM, "value": "research", "effect": "NoSchedule"}
    assert node["name"] == "k2"
    assert node["object"]["metadata"] == {"name": "k2", "uid": node["uid"], "labels": {POOL: "research"}}
    assert (node["added_taints"], node["removed_taints"], node["recorded_taints"]) == ([taint], [], [taint])


def test_only_what_differs_is_written() -> None:
    (node,) = list_variables("applied", gpustack_labels={POOL: "other"}, gpustack_taints=MARKS["gpustack_taints"])
    assert node["object"]["metadata"]["labels"] == {POOL: "other"}
    assert (node["added_taints"], node["removed_taints"]) == ([], [])


def test_what_the_inventory_names_no_longer_is_removed_where_gpustack_set_it() -> None:
    """The label tier and the taint team are of somebody else, and stay."""
    assert find_failures("applied") == {
        "labels": (f"k2: {POOL}=research instead of none", "install"),
        "taints": (f"k2: {TEAM}=research:NoSchedule of an earlier inventory", "install"),
    }
    (node,) = list_variables("applied")
    assert node["object"]["metadata"]["labels"] == {}
    assert [taint["key"] for taint in node["removed_taints"]] == [TEAM]
    assert node["recorded_taints"] == []


def test_another_value_of_ours_replaces_the_earlier_one() -> None:
    (node,) = list_variables("applied", gpustack_taints=(f"{TEAM}=b:NoSchedule",), gpustack_labels={POOL: "research"})
    assert [taint["value"] for taint in node["removed_taints"]] == ["research"]
    assert [taint["value"] for taint in node["added_taints"]] == ["b"]
    assert node["object"] == {}


def test_what_somebody_else_set_otherwise_is_named_and_left() -> None:
    label = f"{POOL}=hand instead of research, set by kubectl-label"
    taint = f"{TEAM}=hand:NoSchedule instead of {TEAM}=research:NoSchedule"
    assert find_failures("overwritten", **MARKS) == {"owners": (f"k2: {label}; {taint}", "operator")}
    assert list_variables("overwritten", **MARKS) == []


def test_what_somebody_else_set_alike_holds_and_stays_theirs() -> None:
    marks = {"gpustack_labels": {"tier": "gold"}, "gpustack_taints": ("team=a:NoSchedule",)}
    assert "tier" not in str(find_failures("applied", **marks))
    (node,) = list_variables("applied", **marks)
    assert node["object"]["metadata"]["labels"] == {}
    assert (node["added_taints"], node["recorded_taints"]) == ([], [])


@pytest.mark.parametrize("case", ["forged", "torn-record"])
def test_a_record_that_somebody_else_wrote_or_that_cannot_be_read_owns_no_taint(case: str) -> None:
    assert "taints" not in find_failures(case, gpustack_labels={POOL: "research", "tier": "gold"})


def test_a_label_that_managed_fields_do_not_name_is_not_ours() -> None:
    """Objects that were restored from a backup have no managedFields."""
    edit = ('{\\"f:example.com/pool\\":{}}'.replace("\\", ""), "{}")
    assert "labels" not in find_failures("applied", edit, gpustack_taints=MARKS["gpustack_taints"])
    assert find_failures("applied", edit, gpustack_labels={POOL: "b"}, gpustack_taints=MARKS["gpustack_taints"]) == {
        "owners": (f"k2: {POOL}=research instead of b, set by others", "operator")
    }


def test_a_host_without_a_certain_node_is_unknown_where_it_has_labels_to_be() -> None:
    hosts = set_marks(**MARKS)
    nodes = {"kube.nodes": read_case("kube.nodes", "control-plane", ("10.78.0.12", "10.78.0.99"))}
    judgements = judge(STEP, place_answers(CLUSTER, *nodes.values()), hosts=hosts)
    assert {check: judgement.outcome for check, judgement in judgements.items()} == {
        "labels": "unknown",
        "taints": "unknown",
        "owners": "ok",
    }
    assert build_variables(View(build_snapshot(place_answers(CLUSTER, *nodes.values()), hosts=hosts), CLUSTER)) == {
        "nodes": []
    }


def test_an_api_without_an_answer_is_unknown() -> None:
    judgements = judge(STEP, place_answers(CLUSTER, make_answer("node.labels", "", 7)))
    assert {judgement.outcome for judgement in judgements.values()} == {"unknown"}
