"""The commands that mend a root, with the names of where it was found."""

import re
from collections.abc import Collection, Iterable, Mapping
from shlex import quote

from gpustack.ask.judge import Result
from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.doctor.finding import Finding
from gpustack.doctor.graph import graph
from gpustack.remedy.offer import ITS_OWN, offer, said_of
from gpustack.report.words import command
from gpustack.rollout.plan import StepState, plan
from gpustack.steps import STEPS
from gpustack.steps.own_node import own

NAMES = re.compile(r"\b[A-Z]{3,}\b")
SPACES = re.compile(r"(?<= -n )(gpu-operator|monitoring)\b")
"""As the catalogue calls the namespaces that the spec may call otherwise."""
ASIDE = "    # "
LIMIT = re.compile(r"\bLIMIT\b")
INSTALL = re.compile(r"gpustack install --only (?P<steps>[\w,-]+)$")


def repairs(found: Finding, snapshot: Snapshot) -> list[str]:
    """Those of the catalogue. What was found on several hosts keeps HOST and NODE: each is a command of its own; and
    what differs between them keeps its word."""
    commands = (may(line, found, snapshot) for line in graph().faults[found.id].fix.commands)
    among = ",".join(where for where in found.wheres if where != CLUSTER)
    lines = [LIMIT.sub(among, here(line, snapshot.inventory)) for line in commands if line]
    alone = len(found.wheres) == 1 and found.wheres != (CLUSTER,)
    of = View(snapshot, found.wheres[0]) if alone else None
    names = {**alike(found), **(named(of) if of else {})}
    return [filled(line, {**names, **({"HOST": host(of, line)} if of else {})}) for line in lines]


def filled(line: str, names: Mapping[str, str]) -> str:
    return NAMES.sub(lambda one: quote(names.get(one[0], one[0])), line)


def alike(found: Finding) -> dict[str, str]:
    """The names that the finding has, the same wherever it was found."""
    told = [set(one.result.names) for one in found.judged if one.result]
    return dict(set.intersection(*told)) if told else {}


def offered(found: Finding, snapshot: Snapshot) -> list[str]:
    """And the one that has it done, where a machine may and can."""
    fix = [] if offer(snapshot, found).why_not else [f"gpustack doctor --fix {found.id}"]
    return [*repairs(found, snapshot), *(here(line, snapshot.inventory) for line in fix)]


def may(line: str, found: Finding, snapshot: Snapshot) -> str:
    """A command of the catalogue, if it is one of `install` as it would do something: with --force where its checks
    see no difference. Empty where the cluster has no such step, or the step is refused there or mends it not."""
    if not (asked := INSTALL.match(line)):
        return line
    states = there(asked["steps"].split(","), found, snapshot)
    if not states or left(states) or said_of(found) or offer(snapshot, found).why_not.endswith(ITS_OWN):
        return ""
    return line if any(one.outcome != "ok" for one in states) else f"{line} --force"


def there(ids: Collection[str], found: Finding, snapshot: Snapshot) -> list[StepState]:
    """How steps stand where a fault is; of one of the cluster that a step of hosts mends, on all of them."""
    hosts = {where for where in found.wheres if where != CLUSTER} or {host.name for host in snapshot.inventory.hosts}
    steps = [step for step in STEPS if step.id in ids]
    return [one for one in plan(snapshot, steps).states if one.where in {*hosts, CLUSTER}]


def left(states: Iterable[StepState]) -> list[Result]:
    return [one for state in states for _, one in state.left]


def by_hand(found: Finding, snapshot: Snapshot) -> list[str]:
    """Why the remedy does not mend it as it was found; and of the steps that the catalogue names and that would be
    refused, why, and what to do instead."""
    commands = graph().faults[found.id].fix.commands
    ids = {id for line in commands if (asked := INSTALL.match(line)) for id in asked["steps"].split(",")}
    refused = (f"{one}{f'; {one.hint}' if one.hint else ''}" for one in left(there(ids, found, snapshot)))
    return list(dict.fromkeys([*said_of(found), *refused]))


def named(of: View) -> dict[str, str]:
    """What stands for NODE, where it is known which one the host is."""
    try:
        node = own(of)
    except FactUnavailable:
        return {}
    return {"NODE": node.name} if node else {}


def host(of: View, line: str) -> str:
    """What stands for HOST: for ssh(1) with the user and the port of the inventory, for ssh-keygen(1) as known_hosts
    names it, which for another port than 22 is not the address alone."""
    address, port = of.host.address or of.where, of.host.port or 22
    bare = f"[{address}]:{port}" if port != 22 else address
    if not line.startswith("ssh "):
        return bare if line.startswith("ssh-keygen ") else address
    login = f"{of.host.user}@" if of.host.user else ""
    return f"ssh://{login}{bare if ':' in address else f'{address}:{port}'}" if port != 22 else f"{login}{address}"


def here(line: str, inventory: Inventory) -> str:
    """A command of the catalogue, on the same hosts."""
    if line.startswith("kubectl "):
        called = {"gpu-operator": inventory.spec.gpu.namespace, "monitoring": inventory.spec.monitoring.namespace}
        return SPACES.sub(lambda one: called[one[1]], line)
    typed, gap, aside = line.partition(ASIDE)
    if not typed.startswith("gpustack ") or typed.startswith("gpustack explain "):
        return line
    return f"{command(typed.removeprefix('gpustack '), inventory)}{gap}{aside}"
