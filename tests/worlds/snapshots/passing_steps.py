"""Steps with a snapshot in which all checks hold: what is spoiled there must be noticed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import HostSpec
from gpustack.rollout.plan import StepState
from gpustack.steps import STEPS
from gpustack.steps.step import Step
from tests.worlds.snapshots import autoscaling, care, cluster, gpus, host_stack, hosts, serve, standalone
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.cluster import ABSENT, ACTIVE, K1, K2
from tests.worlds.snapshots.judge import judge_state

BY_ID = {step.id: step for step in STEPS}
# Where the recorded hosts leave a check nothing to judge: our table, a clock that is kept, a node without the taint.
UNFILTERED_HOSTS = place_answers(
    "h1",
    read_case("firewall.live", "guarded-debian-12"),
    read_case("firewall.stored", "guarded-debian-12"),
    read_case("units.clock", "synchronised"),
    read_case("units.services", "prepared-debian-12", (f"chrony.service\n{ABSENT}", f"chrony.service\n{ACTIVE}")),
)
UNTAINTED_NODES = place_answers(CLUSTER, read_case("kube.nodes", "control-plane", ("io/control-plane", "io/else")))
WITHOUT_KUBERNETES = ("standalone-exporters", "standalone-monitoring", "standalone-care")
PERSISTENT = {"monitoring": {"persistence": {"enabled": True}}}


@dataclass(frozen=True, eq=False)
class PassingStep:
    """A step where all its checks hold."""

    step: Step
    location: str
    snapshot: Snapshot

    def judge(self, answers: Mapping[tuple[str, str], Answer]) -> StepState:
        """Judge the step with other answers in place of the recorded ones."""
        snapshot = replace(self.snapshot, answers={**self.snapshot.answers, **answers})
        return judge_state(self.step, View(snapshot, self.location))


@cache
def list_passing_steps() -> tuple[PassingStep, ...]:
    members = (replace(hosts.H1, spec=HostSpec(), become_password="x"), hosts.H2)
    prepared_snapshot = hosts.build_snapshot(UNFILTERED_HOSTS, {"time_sync": "managed"}, hosts=members)
    with_gpus = gpus.build_snapshot()
    alone = cluster.build_snapshot(UNTAINTED_NODES, {}, (K1,))
    persistent = cluster.build_snapshot({}, PERSISTENT, (K1, K2))
    snapshots = dict.fromkeys(("prereqs", "firewall", "containerd", "kubernetes", "gpu-driver"), prepared_snapshot)
    snapshots |= {"taint": alone, "storage": persistent}
    without_operator = {"time_sync": "managed", "gpu": host_stack.HOST}
    toolkit = UNFILTERED_HOSTS | dict(host_stack.add_toolkit())
    snapshots["gpu-runtime"] = hosts.build_snapshot(toolkit, without_operator, hosts=members)
    snapshots["gpu-plugin"] = host_stack.build_snapshot()
    snapshots["serve"] = serve.build_snapshot()
    snapshots["autoscaling"] = autoscaling.build_snapshot()
    snapshots["care"] = care.build_snapshot()
    snapshots |= dict.fromkeys(WITHOUT_KUBERNETES, standalone.build_snapshot(standalone.build_installed_answers()))
    locations = {"workers": "k2"} | dict.fromkeys(WITHOUT_KUBERNETES, "w1")
    passing_steps = []
    for step in STEPS:
        location = locations.get(step.id, CLUSTER if step.scope == "cluster" else "h1")
        passing_steps.append(PassingStep(step, location, snapshots.get(step.id, with_gpus)))
    return tuple(passing_steps)
