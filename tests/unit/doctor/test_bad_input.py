"""A healthy cluster of which too little was answered: what is not known is unknown, and never a fault or ok."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from tests.worlds.snapshots.healthy import build_healthy_snapshot as base

YEAR = 365 * 24 * 3600
REFUSALS = ("forbidden: User cannot list resource", "HTTP 500", "Operation timed out after 4000 milliseconds")


@cache
def build_healthy() -> Snapshot:
    return base()


def change_answers(change: Callable[[Answer], Answer | None]) -> Snapshot:
    changed_answers = {key: change(answer) for key, answer in build_healthy().answers.items()}
    return replace(build_healthy(), answers={key: answer for key, answer in changed_answers.items() if answer})


@pytest.mark.parametrize("seed", range(3))
def test_half_of_the_answers_is_no_fault(seed: int) -> None:
    random = Random(seed)
    diagnosis = diagnose(change_answers(lambda answer: answer if random.random() < 0.5 else None))
    assert [root.id for root in diagnosis.roots] == []
    assert not diagnosis.healthy
    assert diagnosis.exit_status == 8


@pytest.mark.parametrize("text", REFUSALS)
def test_an_api_that_refuses_everything_is_no_fault_of_others(text: str) -> None:
    of_api = change_answers(
        lambda answer: replace(answer, rc=1, stdout="", stderr=text) if answer.location == CLUSTER else answer
    )
    diagnosis = diagnose(of_api)
    assert [root.id for root in diagnosis.roots] == []
    assert {judgement.outcome for (_, location), judgement in diagnosis.judgements.items() if location == CLUSTER} >= {
        "unknown"
    }


def test_a_clock_off_by_a_year_is_that_alone() -> None:
    def add_year(answer: Answer) -> Answer:
        if (answer.probe, answer.location) != ("system.time", "k2"):
            return answer
        return replace(answer, stdout=f"{int(answer.stdout) + YEAR}\n")

    diagnosis = diagnose(change_answers(add_year))
    assert [(root.id, root.locations) for root in diagnosis.roots] == [("host-time-skew", ("k2",))]
