"""Packets that a strict rp_filter has dropped."""

from dataclasses import replace

import pytest

from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import build_healthy, list_states
from tests.worlds.snapshots.answers import read_case

PROBE = "network.reverse-paths"


def list_drop_states(case: str, *edits: tuple[str, str]) -> list[AbnormalState]:
    healthy = build_healthy()
    host = healthy.inventory.cluster_hosts[0].name
    answer = replace(read_case(PROBE, case, *edits), location=host)
    answers = {**healthy.answers, (PROBE, host): answer}
    return list_states(diagnose(replace(healthy, answers=answers)), "packets-dropped")


def test_packets_that_a_strict_filter_has_dropped_are_a_risk_with_its_links() -> None:
    (state,) = list_drop_states("dropped")
    assert state.severity == "risk"
    assert state.message == (
        "it has dropped 150 packets since the boot whose way back is by another link (IPReversePathFilter); rp_filter "
        "is 1 (strict) on rp1, rp3"
    )


@pytest.mark.parametrize(
    ("case", "edits"),
    [
        ("usual", ()),
        ("dropped", (("drops 150", "drops 12"),)),
        ("dropped", (("strict rp1\nstrict rp3\n", ""),)),
        ("dropped", (("drops 150\n", ""),)),
    ],
    ids=["none", "few", "loose-since-then", "not-counted"],
)
def test_few_packets_or_a_loose_filter_are_no_state(case: str, edits: tuple[tuple[str, str], ...]) -> None:
    assert list_drop_states(case, *edits) == []
