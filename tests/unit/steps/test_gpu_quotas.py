"""Allocatable GPUs that the quotas of all namespaces leave over are said to be so."""

from collections.abc import Sequence

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.gpu.quotas import describe_unallowed_gpus
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.gpus import build_snapshot, place_list, read_answers

TEAMS = ("team-a", "team-b")
PLATFORM = ("gpu-operator", "kube-public", "kube-system", "monitoring")
LARGER_QUOTA = ('"hard":{"requests.nvidia.com/gpu":"2"', '"hard":{"requests.nvidia.com/gpu":"4"')
SENTENCE = (
    "no pod gets 2 of 4 allocatable nvidia.com/gpu: every namespace has a limit: quota gpus of team-a allows 0, "
    "quota gpus of team-b allows 2"
)


def place_namespaces(names: Sequence[str], ending: Sequence[str] = ()) -> Answers:
    phases = [*((name, "Active") for name in (*PLATFORM, *names)), *((name, "Terminating") for name in ending)]
    return place_list(
        "kube.namespaces", [{"metadata": {"name": name}, "status": {"phase": phase}} for name, phase in phases]
    )


def place_quotas(*edits: tuple[str, str]) -> Answers:
    return place_answers(CLUSTER, read_case("gpu.quotas", "teams", *edits))


def describe_gpus(*changes: Answers) -> list[str]:
    answers = {key: answer for change in (place_quotas(), *changes) for key, answer in change.items()}
    return list(describe_unallowed_gpus(View(build_snapshot(answers), CLUSTER)))


def test_gpus_that_all_quotas_leave_over_are_a_warning() -> None:
    answers = {**place_quotas(), **place_namespaces(TEAMS)}
    assert SENTENCE in list_warnings(build_snapshot(answers))
    assert describe_gpus(place_namespaces(TEAMS)) == [SENTENCE]


def test_a_namespace_that_ends_lets_no_pod_in() -> None:
    assert describe_gpus(place_namespaces(TEAMS, ["default"])) == [SENTENCE]


@pytest.mark.parametrize(
    "changes",
    [
        [place_namespaces([*TEAMS, "default"])],
        [place_namespaces([*TEAMS, "team-c"])],
        [place_namespaces([])],
        [place_namespaces(TEAMS), place_quotas(LARGER_QUOTA)],
        [place_namespaces(TEAMS), place_list("gpu.nodes", [])],
        [place_namespaces(TEAMS), place_list("gpu.quotas", [])],
    ],
    ids=["no-quota", "quota-of-a-priority", "no-namespace", "enough", "no-gpus", "no-quotas"],
)  # fmt: skip
def test_gpus_that_some_pod_gets_make_no_finding(changes: list[Answers]) -> None:
    """A quota that is used up makes none either: the pods of its namespace have the GPUs."""
    assert describe_gpus(*changes) == []


def test_each_mig_profile_is_a_resource_of_its_own() -> None:
    nodes, namespaces = read_answers("gpu.nodes", "mig"), place_namespaces(["team-b"])
    assert describe_gpus(nodes, namespaces) == []
    few = place_quotas(('"requests.nvidia.com/mig-1g.10gb":"1k"', '"requests.nvidia.com/mig-1g.10gb":"4"'))
    (sentence,) = describe_gpus(nodes, namespaces, few)
    assert sentence.startswith("no pod gets 10 of 14 allocatable nvidia.com/mig-1g.10gb: ")


@pytest.mark.parametrize("probe", ["gpu.quotas", "kube.namespaces"])
def test_quotas_that_cannot_be_read_are_unknown(probe: str) -> None:
    refusal = place_answers(CLUSTER, make_answer(probe, "", rc=1))
    (sentence,) = describe_gpus(place_namespaces(TEAMS), refusal)
    assert sentence.startswith("unknown whether quotas keep pods from nvidia.com/gpu: unexpected answer (rc 1)")


def test_unknown_nodes_are_reported_by_their_checks() -> None:
    assert describe_gpus(place_namespaces(TEAMS), place_answers(CLUSTER, make_answer("gpu.nodes", "", rc=1))) == []
