"""The verdict is mostly what the maker of a workload calls it: 720 made windows, the same in every run.
`ACCURACY_WRITE=FILE` writes the table of docs/profiling.md."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from gpustack.profile.classify import Verdict, classify
from gpustack.profile.phases import count_phases, cut_warm_up
from gpustack.profile.window import Job
from tests.worlds.prometheus.workloads import MECHANISMS, make_job

pytestmark = pytest.mark.long

WINDOWS_OF_EACH = 60


def judge(name: str, number: int, seed: str = "1") -> Verdict:
    job = make_job(name, random.Random(f"{seed}-{name}-{number}"))
    phases = max(count_phases(cut_warm_up(window)) for window in job.windows)
    return classify(Job(tuple(map(cut_warm_up, job.windows))), phases=phases)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[Verdict]]:
    return {name: [judge(name, number) for number in range(WINDOWS_OF_EACH)] for name in MECHANISMS}


def count_right(name: str, verdicts: list[Verdict]) -> int:
    return sum(verdict.id == MECHANISMS[name].truth for verdict in verdicts)


def test_confident_verdicts_are_right(verdicts: dict[str, list[Verdict]]) -> None:
    sure = {
        name: [judgement for judgement in verdict if judgement.confidence == "high"]
        for name, verdict in verdicts.items()
    }
    assert sum(map(len, sure.values())) > 200
    assert (
        sum(count_right(name, judgements_of_name) for name, judgements_of_name in sure.items())
        / sum(map(len, sure.values()))
        >= 0.95
    )


def test_verdicts_are_mostly_right(verdicts: dict[str, list[Verdict]]) -> None:
    clear_judgements = {
        name: [judgement for judgement in verdict if judgement.id != "insufficient-data"]
        for name, verdict in verdicts.items()
    }
    write(clear_judgements)
    assert (
        sum(count_right(name, judgements_of_name) for name, judgements_of_name in clear_judgements.items())
        / sum(map(len, clear_judgements.values()))
        >= 0.80
    )
    assert all(
        count_right(name, judgements_of_name) / len(judgements_of_name) >= 0.6
        for name, judgements_of_name in clear_judgements.items()
    )


def write(verdicts_by_name: dict[str, list[Verdict]]) -> None:
    if not (target := os.environ.get("ACCURACY_WRITE")):
        return
    lines = []
    for name, verdicts in verdicts_by_name.items():
        sure, truth = [verdict for verdict in verdicts if verdict.confidence == "high"], MECHANISMS[name].truth
        other_classes = Counter(str(judgement.id) for judgement in verdicts if judgement.id != truth)
        wrong = ", ".join(f"{class_name} ({times})" for class_name, times in other_classes.most_common())
        row = (
            name,
            truth,
            f"{count_right(name, verdicts)} of {len(verdicts)}",
            f"{count_right(name, sure)} of {len(sure)}",
            wrong,
        )
        lines.append(f"| {' | '.join(row)} |\n")
    Path(target).write_text("".join(lines))


def test_too_few_samples_give_no_verdict(verdicts: dict[str, list[Verdict]]) -> None:
    for judgement in verdicts.values():
        for verdict in judgement:
            samples = verdict.signals.samples
            assert (verdict.id == "insufficient-data") is (samples < 10)
            assert verdict.confidence != "high" or samples >= 60
