"""Checks of the steps that prepare hosts hold on a prepared host, and guess nothing."""

from dataclasses import replace

import pytest

from gpustack.ask.judge import Check
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.steps.containerd import step as containerd
from gpustack.steps.gpu import driver as gpu_driver
from gpustack.steps.kubernetes import step as kubernetes
from gpustack.steps.prereqs import step as prereqs
from gpustack.steps.step import Step
from tests.worlds.snapshots.hosts import H1, H2, SPEC, build_snapshot, judge
from tests.worlds.snapshots.judge import judge_check, list_failures

STEPS = (prereqs.STEP, containerd.STEP, kubernetes.STEP, gpu_driver.STEP)
CHECKS = [(step, check) for step in STEPS for check in step.checks]
every_step = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
every_check = pytest.mark.parametrize(
    ("step", "check"), CHECKS, ids=lambda value: getattr(value, "id", None) or value.__name__
)
# With these, every check reads all that it can read.
DEFAULTS = {"kubelet": {}, "time_sync": "managed", "source": SPEC["source"] | {"simulated": "refused"}}
ASKED_HOSTS = (replace(H1, become_password="x"), H2)


@every_step
@pytest.mark.parametrize("host", ["h1", "h2"])
def test_each_check_holds_on_a_prepared_host(step: Step, host: str) -> None:
    assert list_failures(judge(step, on=host)) == {}


@every_check
def test_each_check_reads_only_what_its_step_asks(step: Step, check: Check) -> None:
    view = View(build_snapshot({}, DEFAULTS, hosts=ASKED_HOSTS), "h1")
    check(view)
    assert {probe.id for probe, _ in view.reads} <= {probe.id for probe in step.probes}


@every_check
def test_each_check_is_unknown_without_a_fact_it_reads(step: Step, check: Check) -> None:
    """The fact is of its own host: another one that cannot tell is judged for that itself."""
    snapshot = build_snapshot({}, DEFAULTS, hosts=ASKED_HOSTS)
    view = View(snapshot, "h1")
    check(view)
    assert view.reads
    for probe, location in [(probe, location) for probe, location in view.reads if location != "h2"]:
        rest = {key: answer for key, answer in snapshot.answers.items() if key != (probe.id, location)}
        poorer = Snapshot(snapshot.started_at, snapshot.inventory, snapshot.reach, rest)
        assert judge_check(check, View(poorer, "h1")).outcome == "unknown", f"without {probe.id} of {location}"


@every_step
def test_a_fresh_host_is_judged_completely(step: Step) -> None:
    """A fresh host has nothing yet, and that is a fact: nothing is unknown."""
    assert list_failures(judge(step, state="fresh")) != {}
