"""The steps of another layout, broken off as in test_interrupted_cluster.py: one host, GPUs without an operator."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack_lab import lab
from tests.lab import aftermath, roads
from tests.lab.conftest import Run
from tests.lab.later import Break, break_off, kill_alone, kill_tree
from tests.lab.stage import Stage
from tests.lab.story import Story, build_random, on

pytestmark = [pytest.mark.lab, pytest.mark.slow]

TAINT = (
    "kubectl --kubeconfig /etc/kubernetes/admin.conf taint node host1 node-role.kubernetes.io/control-plane:NoSchedule"
)
# In the order of their plays: step, what happens, and the most seconds after its play began.
LATER: list[tuple[str, Break, float]] = [
    ("taint", kill_tree, 0.2),
    ("gpu-runtime", kill_tree, 4),
    ("gpu-runtime", kill_alone, 4),
    ("gpu-plugin", kill_tree, 1),
]


@pytest.fixture(scope="module")
def story(make_lab: Callable[..., lab.Lab], gpustack: Run) -> Story:
    """A control plane that is not yet a worker, with its driver."""
    layout_lab = make_lab("layout", ["debian-13"], gpus="2")
    roads.set_spec(layout_lab, gpu={"stack": "host"})
    first = "prereqs,firewall,containerd,kubernetes,control-plane,flannel,helm,gpu-driver"
    gpustack("install", "-i", layout_lab.inventory, "--only", first, "--yes", limit=1200)
    # Of a control plane that was installed with others, which are gone.
    story = Story(layout_lab, gpustack)
    assert on(story, "host1", TAINT).returncode == 0
    return story


@pytest.fixture
def stage(story: Story, tmp_path: Path, request: pytest.FixtureRequest) -> Stage:
    return Stage(story, tmp_path, build_random(request.node.name))


@pytest.mark.parametrize(
    ("step", "interruption", "max_delay"),
    LATER,
    ids=[f"{step}: {interruption_kind.__name__}" for step, interruption_kind, _ in LATER],
)
def test_a_step_of_this_layout_is_broken_off(stage: Stage, step: str, interruption: Break, max_delay: float) -> None:
    assert break_off(stage, step, interruption, max_delay).is_over()


def test_the_last_one_converges(stage: Stage) -> None:
    aftermath.install_again(stage, limit=1800)
    assert aftermath.list_leftovers(stage) == {}
