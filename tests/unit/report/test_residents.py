"""The pods of a node as a person sees them."""

from datetime import timedelta

import pytest

from gpustack.report.nodes.text import list_resident_rows
from tests.unit.report.drains import TAKEN_AT, judge_pods


@pytest.mark.parametrize(("lag", "has_age"), [(timedelta(), True), (timedelta(days=400), False)])
def test_a_pod_that_started_after_now_has_no_age(lag: timedelta, *, has_age: bool) -> None:
    """The clock of this machine is behind that of the API server."""
    ages = {row[3] for row in list_resident_rows(judge_pods(), TAKEN_AT - lag, lambda resident: resident.fate)}
    assert (ages != {"-"}) is has_age
    assert not any(age.startswith("-") and age != "-" for age in ages)
