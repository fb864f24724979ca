"""Progress names the program of how many, and estimates what is left."""

import os
import time
from pathlib import Path

import pytest

from gpustack.events import Event
from gpustack_lab.bundle.build import build
from gpustack_lab.bundle.cache import Part
from gpustack_lab.bundle.progress import Progress


class Clock:
    """A clock of which a test says how much it goes on."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def read_clock(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock.read_clock)
    return clock


def declare(name: str, seconds: float) -> Part:
    return Part(name, name, lambda _: None, seconds)


def test_each_program_is_counted_and_the_pace_of_this_machine_is_learned(clock: Clock) -> None:
    events: list[Event] = []
    parts = [declare("kubernetes", 1200.0), declare("etcd", 300.0), declare("helm", 300.0)]
    progress = Progress(parts, 2, events.append)
    progress.report_event(Event("step", "kubernetes", "building"))
    progress.report_event(Event("step", "etcd", "building"))
    clock.seconds += 600.0  # half as fast as processors that have nothing else to do
    progress.report_event(Event("changed", "etcd", "built", 600.0))
    progress.report_event(Event("step", "helm", "building"))
    clock.seconds += 300.0
    assert [event.message for event in events] == [
        "compiling, 1 of 3, about 15 min left",
        "compiling, 2 of 3, about 15 min left",
        "built",
        "compiling, 3 of 3, about 20 min left",
    ]
    # Of 1500 s that are not built 450 + 150 are done, and two processors do 1 s in a second.
    assert progress.estimate_seconds() == pytest.approx(900.0)


def test_parts_that_are_not_compiled_are_reported_as_they_are(clock: Clock) -> None:
    events: list[Event] = []
    reported_events = [Event("step", "userland", "building"), Event("changed", "userland", "built", 3.0)]
    progress = Progress([declare("etcd", 60.0)], 2, events.append)
    for event in reported_events:
        progress.report_event(event)
    assert events == reported_events


def test_a_build_counts_the_programs_that_are_missing(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Path(os.environ["XDG_CACHE_HOME"]) / "gpustack" / "parts"
    for name in ("etcd", "coredns", "userland"):
        (next((cache / name).iterdir()) / "part.json").unlink()
    events: list[Event] = []
    build(bundle, report=events.append)
    messages = {event.subject: event.message for event in events if event.kind == "step"}
    assert {messages["etcd"], messages["coredns"]} == {
        "compiling, 1 of 2, about 1 min left",
        "compiling, 2 of 2, about 1 min left",
    }
    assert messages["userland"] == "building"
