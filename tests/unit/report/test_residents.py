"""The pods of a node as a person sees them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gpustack.report.nodes.reboot import render_plan
from gpustack.report.nodes.text import list_resident_rows
from tests.unit.report.drains import TAKEN_AT, judge_pods, make_reboot_plan
from tests.unit.report.screen import print_screen


@pytest.mark.parametrize(("lag", "has_age"), [(timedelta(), True), (timedelta(days=400), False)])
def test_a_pod_that_started_after_now_has_no_age(lag: timedelta, *, has_age: bool) -> None:
    """The clock of this machine is behind that of the API server."""
    ages = {row[3] for row in list_resident_rows(judge_pods(), TAKEN_AT - lag, lambda resident: resident.fate)}
    assert (ages != {"-"}) is has_age
    assert not any(age.startswith("-") and age != "-" for age in ages)


def test_a_reboot_shows_what_is_lost_with_a_pod_that_leaves() -> None:
    plan = make_reboot_plan()
    (target, _) = plan.targets
    pod = replace(target.drain.residents[0], fate="leaves", reason="what people made in it is lost")
    drain = replace(target.drain, residents=(pod,))
    text = print_screen(
        lambda screen: render_plan(screen, replace(plan, targets=(replace(target, drain=drain, jobs=()),)))
    )
    assert f"warning    {pod.pod.full_name}: what people made in it is lost" in text
