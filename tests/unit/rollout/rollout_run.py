"""Hosts and steps of a rollout; a play makes the answers of its hosts good."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from gpustack.ask.judge import Cure, Result
from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.rollout.plan import PlaybookRun, TaskFailure
from gpustack.steps.step import Step

HOSTS = tuple(
    Host(name, f"10.0.0.{index}", groups=frozenset({NODE, CONTROL_PLANE} if index == 1 else {NODE}))
    for index, name in enumerate(("h1", "h2", "h3"), start=1)
)


INVENTORY = Inventory(None, HOSTS, Spec())


def build_step(name: str, needs: tuple[str, ...] = (), cure: Cure = "install", *, passing: bool = False) -> Step:
    probe = Probe(name, Shell("true"), lambda answer: answer.stdout)

    def check(view: View) -> Result | None:
        fact = view[probe]
        return None if fact == "good" else Result(name, "good", fact, cure, passing=passing)

    return Step(name, "host", (probe,), (check,), needs, settle_seconds=0)


class World:
    """Hosts whose answers change when a step is played on them."""

    def __init__(
        self, facts: dict[tuple[str, str], str], fails: Sequence[tuple[str, str]] = (), dead: Sequence[str] = ()
    ) -> None:
        self.facts, self.fails, self.dead = facts, fails, dead
        self.plays: list[tuple[str, tuple[str, ...]]] = []
        self.asks: list[set[str]] = []

    def gather(self, probes: Sequence[Probe[Any]], host_names: Sequence[str]) -> Snapshot:
        self.asks.append({probe.id for probe in probes})
        names = [host.name for host in HOSTS if not host_names or host.name in host_names]
        reach = {name: Reach(name, "host-ssh-unreachable" if name in self.dead else "", "gone") for name in names}
        answers = {
            (probe.id, name): Answer(probe.id, name, 0, self.facts.get((probe.id, name), "bad"))
            for probe in probes
            for name in names
            if name not in self.dead
        }
        return Snapshot(datetime.now(UTC), INVENTORY, reach, answers)

    def play(self, step_to_play: Step, hosts: Sequence[str], snapshot: Snapshot) -> PlaybookRun:
        self.plays.append((step_to_play.id, tuple(hosts)))
        failed_hosts = tuple(host for host in hosts if (step_to_play.id, host) in self.fails)
        for host in hosts:
            if host not in failed_hosts:
                self.facts[step_to_play.id, host] = "good"
        failures = tuple(TaskFailure(host, "Ensure it", "x.yml:1", "no") for host in failed_hosts)
        return PlaybookRun(
            step_to_play.id, tuple(hosts), tuple(hosts), failed_hosts, failures, 0.0, Command("ansible-playbook")
        )
