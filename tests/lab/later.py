"""Steps after the cluster's own ones are interrupted: each run is interrupted in the next step that it comes to."""

import time
from collections.abc import Callable

from gpustack.steps import STEPS
from tests.lab import reliability
from tests.lab.broken_off import Run as Broken
from tests.lab.host_faults import HURT, SESSIONS
from tests.lab.reliability import Row
from tests.lab.stage import Stage, pause
from tests.lab.story import on

Break = Callable[[Stage, Broken, str], str]


def kill_tree(stage: Stage, run: Broken, step: str) -> str:
    run.kill()
    return "killed with all that it started"


def kill_alone(stage: Stage, run: Broken, step: str) -> str:
    run.kill(alone=True)
    return "killed alone"


def kill_sessions(stage: Stage, run: Broken, step: str) -> str:
    on(stage.story, "host1", SESSIONS)
    return f"it ended with {run.end()}"


def power(stage: Stage, run: Broken, step: str) -> str:
    stage.power_cut("host1")
    code = run.end(limit=1200)
    assert code in (0, *HURT), run.read_output()
    return f"it ended with {code}"


def fill_disk(stage: Stage, run: Broken, step: str) -> str:
    """Keep the disk full that `break_off` filled before the run."""
    code = run.end(limit=1200)
    assert code in HURT, run.read_output()
    assert "df -h /var/lib/gpustack-cluster/charts on that host" in " ".join(run.read_output().split())
    return f"it ended with {code}"


NAMES: dict[Break, str] = {
    kill_tree: "kill -9 of gpustack and its Ansible",
    kill_alone: "kill -9 of gpustack alone",
    power: "power cut of host1",
    kill_sessions: "SSH sessions of host1 killed",
    fill_disk: "host1's disk full",
}
CHARTS = "/var/lib/gpustack-cluster/charts"
SMALL, LARGE = f"mkdir -p {CHARTS}; mount -t tmpfs -o size=64k tmpfs {CHARTS}", f"umount {CHARTS}"


def write_row(id: str, fault: str, step: str, observation: str, outcome: str, began: float) -> None:
    reliability.write(Row(id, fault, step, observation, outcome, time.monotonic() - began))


def break_off(stage: Stage, step: str, interruption: Break, max_delay: float) -> Broken:
    """Interrupt a step, at most `max_delay` seconds after its play began, and return the run, which has to be over."""
    if interruption is fill_disk:
        stage.on("host1", SMALL)
    # A run may go on, or play a later step first, and would leave nothing for the next ones to break off.
    ids = [step.id for step in STEPS]
    stage.step_limit = ",".join(ids[: ids.index(step) + 1])
    began, delay = time.monotonic(), stage.rng.uniform(0, max_delay)
    run = stage.run()
    try:
        run.wait_for_step(step)
        pause(run, delay)
        interruption_seen = interruption(stage, run, step)
    finally:
        run.kill()
        print(run.read_output())
        if interruption is fill_disk:
            stage.on("host1", LARGE)
    write_row(
        f"{step}-{interruption.__name__}",
        NAMES[interruption],
        step,
        f"{delay:.1f} s after its play began; {interruption_seen}",
        "went on",
        began,
    )
    return run
