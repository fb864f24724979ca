"""Notes which checks fail in the tests of tests/unit/doctor/checks."""

import os
from collections.abc import Iterator

import pytest

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.doctor.check import Check


@pytest.fixture(scope="session", autouse=True)
def failed_checks() -> Iterator[set[str]]:
    """Ids of checks that have failed so far."""
    ids: set[str] = set()
    judge = Check.__call__

    def call(check: Check, view: View) -> Result:
        result = judge(check, view)
        if not result.ok and "tests/unit/doctor/checks/" in os.environ["PYTEST_CURRENT_TEST"]:
            ids.add(check.id)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Check, "__call__", call)
        yield ids
