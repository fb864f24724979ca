"""The later steps, and the other verbs, broken off one after the other on one cluster with GPUs and monitoring. Each
run is broken off in the next step that it comes to; the last one converges. The tests stand in the order of the story.

INTERRUPT_SEED chooses the moments and INTERRUPT_WRITE adds rows to a table, as in test_interruptions.py.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack_lab import lab
from gpustack_lab.lab.faults import inject
from tests.lab import aftermath, roads, witness
from tests.lab.breaking import write_address
from tests.lab.broken_off import Run as Broken
from tests.lab.conftest import Run
from tests.lab.later import NAMES, Break, break_off, fill_disk, kill_alone, kill_sessions, kill_tree, power, write_row
from tests.lab.stage import Stage, pause
from tests.lab.story import Story, build_random

pytestmark = [pytest.mark.lab, pytest.mark.slow]
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
FAULT = "host-ip-forward-off"

# In the order of their plays: step, what happens, and the most seconds after its play began. gpu-metrics is not among
# them: after gpu-operator nothing of it differs, and it is not played.
LATER: list[tuple[str, Break, float]] = [
    ("helm", kill_tree, 0.5),
    ("storage", kill_alone, 0.5),
    ("monitoring", fill_disk, 0),
    ("monitoring", kill_tree, 8),
    ("monitoring", power, 6),
    ("gpu-driver", kill_tree, 6),
    ("gpu-operator", kill_tree, 6),
    ("gpu-sharing", kill_alone, 0.5),
    ("dashboards", kill_tree, 0.5),
    ("alerts", kill_sessions, 0.5),
]


@pytest.fixture(scope="module")
def story(make_lab: Callable[..., lab.Lab], gpustack: Run, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A cluster up to its workers."""
    later_lab = make_lab("later", ["debian-12", "debian-13"], monitored=True, gpus="1")
    secret = write_address(tmp_path_factory.mktemp("later"))
    roads.set_spec(
        later_lab,
        monitoring={"persistence": {"enabled": True, "size": "1Gi"}},
        alerts={"receivers": {"default": [{"type": "webhook", "secret_file": str(secret)}]}},
        gpu={"sharing": {"mode": "time-slicing", "replicas": 2}},
    )
    first = "prereqs,firewall,containerd,kubernetes,control-plane,flannel,workers"
    gpustack("install", "-i", later_lab.inventory, "--only", first, "--yes", limit=1200)
    return Story(later_lab, gpustack)


@pytest.fixture
def stage(story: Story, tmp_path: Path, request: pytest.FixtureRequest) -> Stage:
    return Stage(story, tmp_path, build_random(request.node.name))


@pytest.mark.parametrize(
    ("step", "interruption", "max_delay"),
    LATER,
    ids=[f"{step}: {interruption_kind.__name__}" for step, interruption_kind, _ in LATER],
)
def test_a_later_step_is_broken_off(stage: Stage, step: str, interruption: Break, max_delay: float) -> None:
    assert break_off(stage, step, interruption, max_delay).is_over()


def test_the_last_one_converges(stage: Stage) -> None:
    began = time.monotonic()
    document, _ = aftermath.install_again(stage, limit=1800)
    assert aftermath.list_leftovers(stage) == {}
    write_row("later-last", "none", "all", "after all of these", document, began)


def begin(stage: Stage, *words: str) -> Broken:
    """Begin any verb as the operator of this stage's other runs."""
    run = Broken((*words, "-i", str(stage.story.lab.inventory)), stage.folder / "one")
    stage.runs.append(run.start())
    return run


def is_healthy(stage: Stage, gpustack: Run) -> bool:
    process = gpustack("doctor", "-i", stage.story.lab.inventory, "-q", "-o", "json", code=None)
    return json.loads(process.stdout)["healthy"] is True


def test_a_proof_is_broken_off(stage: Stage) -> None:
    began = time.monotonic()
    run = begin(stage, "prove")
    pods = f"{KUBECTL} get pods --namespace gpustack-proof --no-headers --ignore-not-found 2>/dev/null | grep -q ."
    with stage.watch("host1", pods) as watcher:
        stage.wait_until_met(run, watcher)
        run.kill()
    prove_run = begin(stage, "prove")
    assert prove_run.end(limit=1800) == 0, prove_run.read_output()
    space = f"{KUBECTL} get namespace gpustack-proof --ignore-not-found -o name"
    witness.wait_until("its namespace is gone", lambda: stage.on("host1", space) == "", limit=60)
    assert aftermath.list_leftovers(stage) == {}
    write_row("prove", NAMES[kill_tree], "prove", "its pods were there", "proven", began)


@pytest.mark.parametrize("interruption", [kill_tree, kill_alone], ids=["tree", "alone"])
def test_a_fix_is_broken_off(stage: Stage, gpustack: Run, interruption: Break) -> None:
    began = time.monotonic()
    inject.undo_faults(stage.story.lab)
    for host in stage.story.lab.hosts:
        # An earlier fix, which outlives the next boot.
        stage.on(host.name, "rm -f /etc/sysctl.d/zzz-gpustack.conf")
    inject.inject_fault(stage.story.lab, f"{FAULT}/overridden")
    # The fix overrides a file of somebody else, so that --yes does not confirm it.
    options = ("--fix", "--yes-to", FAULT)
    run = begin(stage, "doctor", FAULT, *options)
    run.wait_for_step("remedy/sysctl")
    delay = stage.rng.uniform(0, 2)
    pause(run, delay)
    interruption(stage, run, "")
    begin(stage, "doctor", FAULT, *options).end(limit=1800)
    witness.wait_until("doctor finds nothing", lambda: is_healthy(stage, gpustack), limit=600)
    assert aftermath.list_leftovers(stage) == {}
    write_row(
        f"fix-{interruption.__name__}",
        NAMES[interruption],
        "doctor --fix",
        f"{delay:.1f} s after its play began",
        "fixed",
        began,
    )


def test_an_undo_is_broken_off(stage: Stage, gpustack: Run) -> None:
    """The fault is back, whoever took the fix back, and a fix resolves it again."""
    began = time.monotonic()
    run = begin(stage, "doctor", "--undo", "--yes")
    holder_test = "[ -e /run/gpustack-cluster/holder ]"
    with stage.watch("host1", holder_test) as watcher:
        stage.wait_until_met(run, watcher)
    delay = stage.rng.uniform(0, 1)
    time.sleep(delay)
    run.kill()
    undone = begin(stage, "doctor", "--undo", "--yes")
    assert undone.end(limit=1800) == 0 or "undo-nothing" in undone.read_output(), undone.read_output()
    inject.undo_faults(stage.story.lab)
    witness.wait_until("doctor finds nothing", lambda: is_healthy(stage, gpustack), limit=600)
    assert aftermath.list_leftovers(stage) == {}
    write_row("undo", NAMES[kill_tree], "doctor --undo", f"{delay:.1f} s after it had the lock", "rolled back", began)


@pytest.mark.parametrize("interruption", [kill_tree, kill_alone], ids=["tree", "alone"])
def test_a_reset_is_broken_off(stage: Stage, interruption: Break) -> None:
    began = time.monotonic()
    run = begin(stage, "reset", "--yes")
    run.wait_for_step("reset")
    delay = stage.rng.uniform(0, 25)
    pause(run, delay)
    interruption(stage, run, "")
    assert run.is_over()
    write_row(
        f"reset-{interruption.__name__}",
        NAMES[interruption],
        "reset",
        f"{delay:.1f} s after its play began",
        "went on",
        began,
    )


def test_the_last_reset_leaves_nothing(stage: Stage, gpustack: Run) -> None:
    gpustack("reset", "--yes", "-i", stage.story.lab.inventory, limit=1200)
    assert "nothing of gpustack is on them" in gpustack("reset", "-i", stage.story.lab.inventory).stdout
    assert aftermath.list_leftovers(stage) == {}
