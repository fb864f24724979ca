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

EACH = 60


def judge(name: str, number: int, seed: str = "1") -> Verdict:
    job = make_job(name, random.Random(f"{seed}-{name}-{number}"))
    phases = max(count_phases(cut_warm_up(window)) for window in job.windows)
    return classify(Job(tuple(map(cut_warm_up, job.windows))), phases=phases)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[Verdict]]:
    return {name: [judge(name, number) for number in range(EACH)] for name in MECHANISMS}


def count_right(name: str, verdicts: list[Verdict]) -> int:
    return sum(verdict.id == MECHANISMS[name].truth for verdict in verdicts)


def test_confident_verdicts_are_right(verdicts: dict[str, list[Verdict]]) -> None:
    sure = {name: [one for one in verdict if one.confidence == "high"] for name, verdict in verdicts.items()}
    assert sum(map(len, sure.values())) > 200
    assert sum(count_right(name, found) for name, found in sure.items()) / sum(map(len, sure.values())) >= 0.95


def test_verdicts_are_mostly_right(verdicts: dict[str, list[Verdict]]) -> None:
    known = {name: [one for one in verdict if one.id != "insufficient-data"] for name, verdict in verdicts.items()}
    write(known)
    assert sum(count_right(name, found) for name, found in known.items()) / sum(map(len, known.values())) >= 0.80
    assert all(count_right(name, found) / len(found) >= 0.6 for name, found in known.items())


def write(verdicts_by_name: dict[str, list[Verdict]]) -> None:
    if not (where := os.environ.get("ACCURACY_WRITE")):
        return
    lines = []
    for name, verdicts in verdicts_by_name.items():
        sure, truth = [verdict for verdict in verdicts if verdict.confidence == "high"], MECHANISMS[name].truth
        others = Counter(str(one.id) for one in verdicts if one.id != truth)
        wrong = ", ".join(f"{other} ({times})" for other, times in others.most_common())
        row = (
            name,
            truth,
            f"{count_right(name, verdicts)} of {len(verdicts)}",
            f"{count_right(name, sure)} of {len(sure)}",
            wrong,
        )
        lines.append(f"| {' | '.join(row)} |\n")
    Path(where).write_text("".join(lines))


def test_too_few_samples_give_no_verdict(verdicts: dict[str, list[Verdict]]) -> None:
    for found in verdicts.values():
        for verdict in found:
            samples = dict(verdict.means)["samples"]
            assert (verdict.id == "insufficient-data") is (samples < 10)
            assert verdict.confidence != "high" or samples >= 60
