"""What to type about a root cause, with the names of where it was found: the commands of the catalogue that do
something there, the automatic fix where there is one, and what is left to a person."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Hint, Template, quote_word
from gpustack.config.inventory import Inventory
from gpustack.doctor.finding import Finding
from gpustack.doctor.graph import graph
from gpustack.remedy.offer import ITS_OWN, Offer, manual_reasons, offer
from gpustack.rollout.next import build_command
from gpustack.rollout.plan import StepState, plan
from gpustack.steps import STEPS
from gpustack.steps.own_node import confirm_own

SPACES = re.compile(r"(?<= -n )(gpu-operator|monitoring)\b")
"""As the catalogue calls the namespaces that the spec may call otherwise."""
INSTALL = re.compile(r"gpustack install --only (?P<steps>[\w,-]+)$")
LONG = 200
"""Characters of a hint. What is longer, plan shows beside its finding."""


@dataclass(frozen=True)
class Commands:
    """`repairs` are those of the catalogue, `fix` is empty where there is no automatic fix. `manual` says why the fix
    or a step does not repair it as it was found, and what to do instead."""

    repairs: tuple[Hint, ...]
    fix: Hint
    manual: tuple[str, ...]

    @property
    def all(self) -> tuple[Hint, ...]:
        return (*self.repairs, *filter(None, [self.fix]))


def commands(found: Finding, snapshot: Snapshot) -> Commands:
    """What was found on several hosts keeps HOST and NODE: each is a command of its own; and what differs between them
    keeps its word."""
    offered, states = offer(snapshot, found), judge_named_steps(found, snapshot)
    lines = (adapt_install(line, offered, states) for line in graph().faults[found.id].fix.commands)
    among = ",".join(where for where in found.locations if where != CLUSTER)
    alone = len(found.locations) == 1 and found.locations != (CLUSTER,)
    of = View(snapshot, found.locations[0]) if alone else None
    names = {**shared_names(found), **(find_node_name(of) if of else {}), **({"LIMIT": among} if among else {})}
    repairs = tuple(
        fill_line(line, snapshot.inventory, {**names, **({"HOST": address_host(of, line)} if of else {})})
        for line in lines
        if line
    )
    fix = NO_HINT if offered.why_not else build_command(snapshot.inventory, "doctor", "--fix", found.id)
    return Commands(repairs, fix, tuple(dict.fromkeys([*manual_reasons(found), *describe_refused(states)])))


def fill_line(line: str, inventory: Inventory, names: Mapping[str, str]) -> Hint:
    """Return a line of the catalogue for the same hosts, with the namespaces of the spec and with these names."""
    if line.startswith("kubectl "):
        called = {"gpu-operator": inventory.spec.gpu.namespace, "monitoring": inventory.spec.monitoring.namespace}
        return Template(SPACES.sub(lambda space: quote_word(called[space[1]]), line)).fill(names)
    ours = line.startswith("gpustack ") and not line.startswith("gpustack explain ")
    return Template(line).fill(names, *(["-i", str(inventory.source)] if ours and inventory.source else []))


def shared_names(found: Finding) -> dict[str, str]:
    """The names that the finding has, the same wherever it was found."""
    found_names = [set(one.result.names) for one in found.judged if one.result]
    return dict(set.intersection(*found_names)) if found_names else {}


def adapt_install(line: str, offered: Offer, states: Sequence[StepState]) -> str:
    """A command of the catalogue, if it is one of `install` as it would do something: with --force where its checks
    see no difference. Empty where the cluster has no such step, or the step is refused there or does not repair it."""
    if not (asked := INSTALL.match(line)):
        return line
    own_states = [one for one in states if one.step in asked["steps"].split(",")]
    if not own_states or any(one.left for one in own_states):
        return ""
    if manual_reasons(offered.finding) or offered.why_not.endswith(ITS_OWN):
        return ""
    return line if any(one.outcome != "ok" for one in own_states) else f"{line} --force"


def judge_named_steps(found: Finding, snapshot: Snapshot) -> list[StepState]:
    """How the steps that the catalogue names stand where a fault is; of one of the cluster that a step of hosts
    repairs, on all of them."""
    lines = graph().faults[found.id].fix.commands
    ids = {id for line in lines if (asked := INSTALL.match(line)) for id in asked["steps"].split(",")}
    hosts = {where for where in found.locations if where != CLUSTER} or {host.name for host in snapshot.inventory.hosts}
    steps = [step for step in STEPS if step.id in ids]
    return [one for one in plan(snapshot, steps).states if one.where in {*hosts, CLUSTER}]


def describe_refused(states: Sequence[StepState]) -> Iterator[str]:
    for _, one in (left for state in states for left in state.left):
        hint = one.hint if len(one.hint) <= LONG else "gpustack plan shows how"
        yield f"{one}{f'; {hint}' if hint else ''}"


def find_node_name(of: View) -> dict[str, str]:
    """What stands for NODE, where it is known which one the host is."""
    try:
        node = confirm_own(of)
    except FactUnavailable:
        return {}
    return {"NODE": node.name} if node else {}


def address_host(of: View, line: str) -> str:
    """What stands for HOST: for ssh(1) with the user and the port of the inventory, for ssh-keygen(1) as known_hosts
    names it, which for another port than 22 is not the address alone."""
    address, port = of.host.address or of.where, of.host.port or 22
    bare = f"[{address}]:{port}" if port != 22 else address
    if not line.startswith("ssh "):
        return bare if line.startswith("ssh-keygen ") else address
    login = f"{of.host.user}@" if of.host.user else ""
    return f"ssh://{login}{bare if ':' in address else f'{address}:{port}'}" if port != 22 else f"{login}{address}"
