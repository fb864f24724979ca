"""Changes on the host of a state are shown where they came shortly before it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command
from gpustack.doctor.recent_changes import CLOCK_TOLERANCE, find_preceding_changes
from gpustack.doctor.states.state import AbnormalState
from tests.worlds.snapshots.answers import make_answer, place_answers
from tests.worlds.snapshots.hosts import build_snapshot

REPORT_TIME = datetime(2026, 11, 29, 18, 0, tzinfo=UTC)
SYSTEMD_UPGRADE = "apt: upgrade systemd"


def build_host(clock_error: int = 0) -> Snapshot:
    """Build a host on which systemd was upgraded 20 minutes ago, and nginx two days ago."""
    clock = f"== now\n{int(REPORT_TIME.timestamp()) + clock_error}\n== booted\n== files\n"
    answers = place_answers("h1", make_answer("recent.files", clock))
    answers |= place_answers("h1", make_answer("recent.packages", "1200 upgrade systemd\n172800 install nginx\n"))
    return replace(build_snapshot(answers), started_at=REPORT_TIME)


def list_changes(snapshot: Snapshot, minutes_ago: float | None) -> list[str]:
    onset = None if minutes_ago is None else REPORT_TIME - timedelta(minutes=minutes_ago)
    state = AbnormalState("unit-failed", "broken", ("h1",), ("unit a",), "", Command("true"), onset)
    return [change.description for change in find_preceding_changes(state, snapshot)]


@pytest.mark.parametrize(
    ("minutes_ago", "changes"), [(19, [SYSTEMD_UPGRADE]), (21, []), (3 * 24 * 60, []), (None, []), (-200, [])]
)
def test_only_what_came_within_an_hour_before_is_shown(minutes_ago: float | None, changes: list[str]) -> None:
    assert list_changes(build_host(), minutes_ago) == changes


def test_no_order_is_claimed_where_clocks_differ() -> None:
    assert list_changes(build_host(CLOCK_TOLERANCE + 1), 19) == []
