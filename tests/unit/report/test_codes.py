"""The exit status: one table for the code, the errors and the documentation."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack import errors
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.report.codes import (
    DIAGNOSIS_MEANINGS,
    MEANINGS,
    PRECEDENCE,
    compute_diagnosis_code,
    compute_outcome_code,
    compute_plan_code,
    compute_proof_code,
    select_code,
)
from gpustack.report.schema import ExitCode
from gpustack.rollout.plan import Outcome, Plan, Verification
from tests.worlds import diagnoses, plans, proofs
from tests.worlds.plans import CLOCK, PODS, STRANGER, answers_of, made

DOCUMENT = Path(__file__).parents[3] / "docs" / "exit-codes.md"
NAMES = ["kube1", "kube2"]
PODS_GOOD = Answer(PODS.id, CLUSTER, 0, "2 running")


def unknown_plan() -> Plan:
    lost = Answer(CLOCK.id, "kube2", -1, "", missing_reason="broken off")
    return made(NAMES, [*answers_of("kube1"), *answers_of("kube2"), lost, PODS_GOOD])


def done(after: Plan, **other: object) -> Outcome:
    played = (plans.played("ground", NAMES, NAMES),)
    return replace(Outcome(plans.bare(), played, Verification(after, 0.1, 1), (), 1.0), **other)  # type: ignore[arg-type]


def test_the_table_is_whole() -> None:
    assert sorted(MEANINGS) == sorted(PRECEDENCE) == sorted(ExitCode.__args__)  # type: ignore[attr-defined]
    codes = {kind.code for kind in errors.GpustackError.__subclasses__()} | {errors.GpustackError.code}
    assert codes <= set(MEANINGS)


def test_the_documentation_says_the_same() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| ([^|]+?) \|", DOCUMENT.read_text(), re.MULTILINE))
    assert {int(code): meaning for code, meaning in rows.items()} == MEANINGS
    order = re.search(r"`([\d, ]+)`", DOCUMENT.read_text())
    assert order
    assert tuple(int(code) for code in order[1].split(", ")) == PRECEDENCE


@pytest.mark.parametrize(("codes", "first"), [((), 0), ((8, 1), 1), ((9, 5), 5), ((6, 130), 130), ((0, 8), 8)])
def test_the_foremost_counts(codes: tuple[int, ...], first: int) -> None:
    assert select_code(codes) == first


def test_of_a_look() -> None:
    assert compute_plan_code(plans.converged()) == 0
    assert compute_plan_code(plans.bare()) == 1
    assert compute_plan_code(unknown_plan()) == 8
    good = [*answers_of("kube1"), PODS_GOOD]
    assert compute_plan_code(made(["kube1", "kube3"], good, [STRANGER])) == 8


def test_of_an_install() -> None:
    drifted = made(NAMES, [*answers_of("kube1", swap="on"), *answers_of("kube2"), PODS_GOOD])
    by_hand = made(NAMES, [*answers_of("kube1", cpus="1"), *answers_of("kube2"), PODS_GOOD])
    assert compute_outcome_code(done(plans.converged())) == 0
    assert compute_outcome_code(done(drifted)) == 6
    assert compute_outcome_code(done(drifted, playbook_runs=())) == 1
    assert compute_outcome_code(done(by_hand)) == 5
    assert compute_outcome_code(done(unknown_plan())) == 8
    assert compute_outcome_code(done(drifted, playbook_runs=plans.failed().playbook_runs)) == 5
    assert compute_outcome_code(done(plans.converged(), stop_reason="interrupted")) == 130
    assert compute_outcome_code(done(plans.converged(), stop_reason="the lock on h1 was lost")) == 5


def test_of_a_proof() -> None:
    assert compute_proof_code(proofs.good()) == 0
    assert compute_proof_code(proofs.mixed()) == 1
    assert compute_proof_code(proofs.none()) == 0
    assert compute_proof_code(proofs.interrupted()) == 130
    assert compute_proof_code(replace(proofs.none(), skipped_hosts=(("kube1", "not reached"),))) == 8
    assert compute_proof_code(replace(proofs.good(), remaining="pods are still there")) == 1
    assert compute_proof_code(replace(proofs.good(), stop_reason="the lock was lost")) == 5


def test_gpus_in_use_do_not_count_unless_nothing_else_is_there() -> None:
    good, busy = proofs.good(), proofs.busy()
    assert compute_proof_code(busy) == 8
    assert compute_proof_code(replace(good, rows=(*good.rows[:3], busy.rows[3]))) == 0


def test_of_a_diagnosis() -> None:
    assert set(DIAGNOSIS_MEANINGS) <= set(MEANINGS)
    assert compute_diagnosis_code(diagnoses.healthy()) == 0
    assert compute_diagnosis_code(diagnoses.ufw()) == 1
    open_one = diagnoses.unexplained()
    assert compute_diagnosis_code(open_one) == 1
    assert compute_diagnosis_code(replace(open_one, drift=())) == 8
    assert compute_diagnosis_code(diagnoses.diagnosed({"host-ip-forward-off@cp1": "?it hung"})) == 8
