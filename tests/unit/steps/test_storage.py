import json
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.steps.storage import STEP
from tests.worlds.snapshots.answers import read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import judge, judge_steps
from tests.worlds.snapshots.judge import list_failures

CLASSES, PROVISIONER = ("storage.classes", CLUSTER), ("storage.provisioner", CLUSTER)


def build_spec(**fields: Any) -> dict[str, Any]:
    """Build the spec of a cluster that keeps its history."""
    return {"monitoring": {"persistence": {"enabled": True, **fields}}}


def load_classes(case: str) -> Answers:
    return {CLASSES: read_case("storage.classes", case)}


def test_without_persistence_there_is_no_such_step() -> None:
    assert judge_steps(STEP) == []
    assert judge_steps(STEP, spec={"monitoring": {"enabled": False}}) == []
    assert judge_steps(STEP, spec={"monitoring": {"enabled": True, "persistence": {"enabled": False}}}) == []


def test_holds_with_our_provisioner() -> None:
    assert list_failures(judge(STEP, spec=build_spec())) == {}


@pytest.mark.parametrize("case", ["none", "not-default"])
def test_no_default_class_is_for_install_or_for_a_person(case: str) -> None:
    actual = {"none": "none", "not-default": "none"}[case]
    assert list_failures(judge(STEP, load_classes(case), build_spec())) == {"default-class": (actual, "install")}
    named_class = {"none": "none of nothing", "not-default": "none of nfs"}[case]
    foreign_storage = build_spec() | {"storage": {"provisioner": "none"}}
    assert list_failures(judge(STEP, load_classes(case), foreign_storage)) == {
        "default-class": (named_class, "operator")
    }


def test_a_class_that_the_spec_names_has_to_exist() -> None:
    assert list_failures(judge(STEP, load_classes("not-default"), build_spec(storage_class="nfs"))) == {}
    assert list_failures(judge(STEP, spec=build_spec(storage_class="fast"))) == {
        "default-class": ("local-path, nfs", "operator")
    }


def test_a_provisioner_of_ours_that_does_not_run_is_for_install() -> None:
    answers = {PROVISIONER: read_case("storage.provisioner", "none")}
    assert list_failures(judge(STEP, answers, build_spec())) == {"provisioner": ("nothing", "install")}
    answers = {PROVISIONER: read_case("storage.provisioner", "starting")}
    mismatch = judge(STEP, answers, build_spec())["provisioner"].result
    assert mismatch
    assert (mismatch.actual, mismatch.passing) == ("not running", True)
    quota = 'pods "local-path-provisioner-1" is forbidden: exceeded quota: few'
    failure_text = json.dumps([{"type": "ReplicaFailure", "status": "True", "message": quota}])
    answers = {
        PROVISIONER: read_case("storage.provisioner", "starting", ('"conditions":[]', f'"conditions":{failure_text}'))
    }
    assert list_failures(judge(STEP, answers, build_spec())) == {"provisioner": (f"not running: {quota}", "install")}
    answers = {PROVISIONER: read_case("storage.provisioner", "local-path", ('"replicas":1', '"replicas":0'))}
    mismatch = judge(STEP, answers, build_spec())["provisioner"].result
    assert mismatch
    assert (mismatch.actual, mismatch.passing) == ("scaled to 0", False)


def test_a_provisioner_of_somebody_else_is_not_looked_at() -> None:
    foreign_class = {CLASSES: read_case("storage.classes", "local-path", ("rancher.io/local-path", "nfs.csi.k8s.io"))}
    answers = foreign_class | {PROVISIONER: read_case("storage.provisioner", "none")}
    assert list_failures(judge(STEP, answers, build_spec())) == {}
