"""Markers are in pyproject.toml. Tests marked `lab` are skipped, with the lab's own sentence, where it cannot run."""

from functools import cache

import pytest

from gpustack.errors import LabError


@cache
def lab_refusal() -> str:
    """Why no lab can be on this machine; empty when one can."""
    from gpustack.lab.capabilities import require

    try:
        require()
    except LabError as error:
        return f"{error.message}: {error.why}" if error.why else error.message
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("lab") and (why := lab_refusal()):
        pytest.skip(why)
