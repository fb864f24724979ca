"""How a step after the cluster's own ones is broken off: each run is broken off in the next step that it comes to."""

import time
from collections.abc import Callable

from tests.lab import reliability
from tests.lab.broken_off import Run as Broken
from tests.lab.host_faults import HURT, SESSIONS
from tests.lab.reliability import Row
from tests.lab.stage import Stage, pause
from tests.lab.story import on

Break = Callable[[Stage, Broken, str], str]


def tree(stage: Stage, run: Broken, step: str) -> str:
    run.kill()
    return "killed with all that it started"


def alone(stage: Stage, run: Broken, step: str) -> str:
    run.kill(alone=True)
    return "killed alone"


def sessions(stage: Stage, run: Broken, step: str) -> str:
    on(stage.story, "host1", SESSIONS)
    return f"it ended with {run.end()}"


def power(stage: Stage, run: Broken, step: str) -> str:
    stage.power_cut("host1")
    code = run.end(limit=1200)
    assert code in (0, *HURT), run.output()
    return f"it ended with {code}"


def full(stage: Stage, run: Broken, step: str) -> str:
    """From before the run on: see `break_off`."""
    code = run.end(limit=1200)
    assert code in HURT, run.output()
    assert "df -h /var/lib/gpustack-cluster/charts on that host" in " ".join(run.output().split())
    return f"it ended with {code}"


NAMES: dict[Break, str] = {
    tree: "kill -9 of gpustack and its Ansible",
    alone: "kill -9 of gpustack alone",
    power: "power cut of host1",
    sessions: "SSH sessions of host1 killed",
    full: "host1's disk full",
}
CHARTS = "/var/lib/gpustack-cluster/charts"
SMALL, LARGE = f"mkdir -p {CHARTS}; mount -t tmpfs -o size=64k tmpfs {CHARTS}", f"umount {CHARTS}"


def note(id: str, fault: str, step: str, observed: str, then: str, began: float) -> None:
    reliability.write(Row(id, fault, step, observed, then, time.monotonic() - began))


def break_off(stage: Stage, step: str, how: Break, most: float) -> None:
    """At most that many seconds after the step's play began."""
    if how is full:
        stage.on("host1", SMALL)
    if how in (full, power, sessions):
        # The run goes on, and would leave nothing for the next ones to break off.
        stage.only = step
    began, delay = time.monotonic(), stage.rng.uniform(0, most)
    run = stage.run()
    try:
        run.until_step(step)
        pause(run, delay)
        observed = how(stage, run, step)
    finally:
        run.kill()
        print(run.output())
        if how is full:
            stage.on("host1", LARGE)
    assert run.over()
    note(
        f"{step}-{how.__name__}", NAMES[how], step, f"{delay:.1f} s after its play began; {observed}", "went on", began
    )
