"""Notes which checks fail in the tests of tests/unit/doctor/checks, and which of them would pass without an answer."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from gpustack.ask.judge import Result
from gpustack.ask.probe import UNREADABLE, FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import Check

JUDGE = Check.__call__


@dataclass
class Failures:
    """Hold the ids of checks that have failed so far, the tests in which they were judged again without each of their
    answers, and the (id, probe) of those that passed then."""

    ids: set[str] = field(default_factory=set)
    tests: set[tuple[str, str]] = field(default_factory=set)
    passes: set[tuple[str, str]] = field(default_factory=set)


@pytest.fixture(scope="session", autouse=True)
def failures() -> Iterator[Failures]:
    failures = Failures()

    def call(check: Check, view: View) -> Result:
        result = JUDGE(check, view)
        test = os.environ["PYTEST_CURRENT_TEST"]
        if not result.ok and "tests/unit/doctor/checks/" in test:
            failures.ids.add(check.id)
            if (check.id, test) not in failures.tests:
                failures.tests.add((check.id, test))
                failures.passes.update((check.id, probe) for probe in list_needless_answers(check, view))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Check, "__call__", call)
        yield failures


def list_needless_answers(check: Check, view: View) -> Iterator[str]:
    """List the probes without whose answer a check passes that fails with it: the lost answer would rule a fault out
    that is present."""
    for evidence in view.evidence:
        answers = {key: answer for key, answer in view.snapshot.answers.items() if answer is not evidence.answer}
        try:
            if JUDGE(check, View(replace(view.snapshot, answers=answers), view.location)).ok:
                yield evidence.answer.probe
        except (FactUnavailable, *UNREADABLE):
            continue
