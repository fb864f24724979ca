"""The exit status: one table for the code, the errors and the documentation."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack import errors
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.doctor.starting import Start
from gpustack.exit_status import ExitStatus, select_status
from gpustack.report.renderings import RENDERINGS
from gpustack.report.schema import ExitCode
from gpustack.rollout.plan import Outcome, Plan, Verification
from tests.worlds.results import diagnoses, plans, proofs
from tests.worlds.results.plans import CLOCK, PODS, STRANGER, make_answers, make_plan

DOCUMENT = Path(__file__).parents[3] / "docs" / "exit-codes.md"
NAMES = ["kube1", "kube2"]
PODS_GOOD = Answer(PODS.id, CLUSTER, 0, "2 running")


def build_unknown_plan() -> Plan:
    lost_answer = Answer(CLOCK.id, "kube2", -1, "", missing_reason="broken off")
    return make_plan(NAMES, [*make_answers("kube1"), *make_answers("kube2"), lost_answer, PODS_GOOD])


def build_outcome(after: Plan, **fields: object) -> Outcome:
    runs = (plans.make_run("ground", NAMES, NAMES),)
    return replace(Outcome(plans.make_bare_plan(), runs, Verification(after, 0.1, 1), (), 1.0), **fields)  # type: ignore[arg-type]


def test_the_table_is_whole() -> None:
    assert sorted(ExitStatus) == sorted(ExitCode.__args__)  # type: ignore[attr-defined]
    codes = {kind.code for kind in errors.GpustackError.__subclasses__()} | {errors.GpustackError.code}
    assert codes <= set(ExitStatus)


def test_the_documentation_says_the_same() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| ([^|]+?) \|", DOCUMENT.read_text(), re.MULTILINE))
    assert {int(code): meaning for code, meaning in rows.items()} == {
        int(status): status.meaning for status in ExitStatus
    }
    order = re.search(r"`([\d, ]+)`", DOCUMENT.read_text())
    assert order
    assert tuple(int(code) for code in order[1].split(", ")) == tuple(ExitStatus)


@pytest.mark.parametrize(
    ("statuses", "first"),
    [
        ((), ExitStatus.OK),
        ((ExitStatus.UNKNOWN, ExitStatus.DIFFERS), ExitStatus.DIFFERS),
        ((ExitStatus.LAB_FAILED, ExitStatus.FAILED), ExitStatus.FAILED),
        ((ExitStatus.INCOMPLETE, ExitStatus.INTERRUPTED), ExitStatus.INTERRUPTED),
        ((ExitStatus.OK, ExitStatus.UNKNOWN), ExitStatus.UNKNOWN),
    ],
)
def test_the_first_status_counts_whose_condition_is_true(statuses: tuple[ExitStatus, ...], first: ExitStatus) -> None:
    assert select_status(**{status.name: True for status in statuses}) == first
    assert select_status(**{status.name: () for status in statuses}) == ExitStatus.OK


def test_only_what_converges_ends_with_the_words_of_a_plan() -> None:
    schemas = {rendering.schema for rendering in RENDERINGS.values() if ExitStatus.OK not in rendering.meanings}
    assert schemas == {"plan", "verification", "outcome", "error", ""}


def test_a_plan_ends_with_its_outcome() -> None:
    assert plans.make_converged_plan().exit_status == 0
    assert plans.make_bare_plan().exit_status == 1
    assert build_unknown_plan().exit_status == 8
    good = [*make_answers("kube1"), PODS_GOOD]
    assert make_plan(["kube1", "kube3"], good, [STRANGER]).exit_status == 8


def test_an_install_ends_with_its_outcome() -> None:
    drifted_plan = make_plan(NAMES, [*make_answers("kube1", swap="on"), *make_answers("kube2"), PODS_GOOD])
    by_hand = make_plan(NAMES, [*make_answers("kube1", cpus="1"), *make_answers("kube2"), PODS_GOOD])
    assert build_outcome(plans.make_converged_plan()).exit_status == 0
    assert build_outcome(drifted_plan).exit_status == 6
    assert build_outcome(drifted_plan, playbook_runs=()).exit_status == 1
    assert build_outcome(by_hand).exit_status == 5
    assert build_outcome(build_unknown_plan()).exit_status == 8
    assert build_outcome(drifted_plan, playbook_runs=plans.make_failed_outcome().playbook_runs).exit_status == 5
    assert build_outcome(plans.make_converged_plan(), stop_reason="interrupted").exit_status == 130
    assert build_outcome(plans.make_converged_plan(), stop_reason="the lock on h1 was lost").exit_status == 5


def test_a_proof_ends_with_its_outcome() -> None:
    assert proofs.make_good_proof().exit_status == 0
    assert proofs.make_mixed_proof().exit_status == 1
    assert proofs.make_empty_proof().exit_status == 0
    assert proofs.make_interrupted_proof().exit_status == 130
    assert replace(proofs.make_empty_proof(), skipped_hosts=(("kube1", "unreachable"),)).exit_status == 8
    assert replace(proofs.make_good_proof(), remaining="pods are still there").exit_status == 1
    assert replace(proofs.make_good_proof(), stop_reason="the lock was lost").exit_status == 5


def test_gpus_in_use_do_not_count_unless_nothing_else_is_there() -> None:
    good, busy = proofs.make_good_proof(), proofs.make_busy_proof()
    assert busy.exit_status == 8
    assert replace(good, rows=(*good.rows[:3], busy.rows[3])).exit_status == 0


def test_a_diagnosis_ends_with_its_outcome() -> None:
    assert diagnoses.make_healthy_diagnosis().exit_status == 0
    assert diagnoses.make_ufw_diagnosis().exit_status == 1
    open_one = diagnoses.make_unexplained_diagnosis()
    assert open_one.exit_status == replace(open_one, drift=()).exit_status == 1
    assert diagnoses.make_diagnosis({}, open_one.drift).exit_status == 1
    assert diagnoses.make_diagnosis({"host-ip-forward-off@cp1": "?it hung"}).exit_status == 8


@pytest.mark.parametrize("id", ["host-swap-on", "dns-nameserver-limit", "mon-dcgm-profiling-unsupported"])
def test_what_harms_nothing_yet_fails_only_a_strict_diagnosis(id: str) -> None:
    diagnosis = diagnoses.make_diagnosis({f"{id}@gpu1": "!1"})
    assert (diagnosis.exit_status, replace(diagnosis, strict=True).exit_status) == (0, 1)
    assert replace(diagnoses.make_healthy_diagnosis(), strict=True).exit_status == 0
    unsure = diagnoses.make_diagnosis({f"{id}@gpu1": "!1", "host-ip-forward-off@cp1": "?it hung"})
    assert unsure.exit_status == 8


def test_a_symptom_of_a_host_that_is_starting_is_unknown() -> None:
    diagnosis = diagnoses.make_unexplained_diagnosis()
    verdict = diagnosis.verdict
    symptoms = tuple(
        replace(symptom, starts=(Start("gpu1", "kubelet", 20),)) for symptom in verdict.unexplained_symptoms
    )
    starting = replace(diagnosis, drift=(), verdict=replace(verdict, unexplained_symptoms=symptoms))
    assert starting.exit_status == 8
