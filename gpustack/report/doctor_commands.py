"""The commands that mend a root, with the names of where it was found."""

import re

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.doctor.finding import Finding
from gpustack.doctor.graph import graph
from gpustack.remedy.offer import offer
from gpustack.report.words import command
from gpustack.steps.own_node import own

NAMES = re.compile(r"\b(HOST|NODE)\b")


def repairs(found: Finding, snapshot: Snapshot) -> list[str]:
    """Those of the catalogue. What was found on several hosts keeps HOST and NODE: each is a command of its own."""
    lines = [here(line, snapshot.inventory) for line in graph().faults[found.id].fix.commands]
    if found.wheres == (CLUSTER,) or len(found.wheres) > 1:
        return lines
    names = named(View(snapshot, found.wheres[0]))
    return [NAMES.sub(lambda one: names.get(one[1], one[1]), line) for line in lines]


def offered(found: Finding, snapshot: Snapshot) -> list[str]:
    """And the one that has it done, where a machine may and can."""
    fix = [] if offer(snapshot, found).why_not else [f"gpustack doctor --fix {found.id}"]
    return [*repairs(found, snapshot), *(here(line, snapshot.inventory) for line in fix)]


def named(of: View) -> dict[str, str]:
    """What stands for HOST, as one would log in, and for NODE, where it is known which one the host is."""
    names = {"HOST": of.host.address or of.where}
    try:
        node = own(of)
    except FactUnavailable:
        return names
    return {**names, "NODE": node.name} if node else names


def here(line: str, inventory: Inventory) -> str:
    """A command of the catalogue, on the same hosts."""
    verb, _, rest = line.removeprefix("gpustack ").partition(" ")
    if not line.startswith("gpustack ") or verb == "explain":
        return line
    return command(f"{verb} {rest}".strip(), inventory)
