"""What a machine may do about a root cause: which playbook, on which hosts, with which words; or why it may do nothing.

A step is played as `install` plays it; every other remedy is one of playbooks/remedy/ with the catalogue's parameters.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command, Hint
from gpustack.config.complaint import nearest
from gpustack.doctor.entry import DropIn, Fault, Remedy
from gpustack.doctor.finding import Diagnosis, Finding
from gpustack.doctor.graph import graph
from gpustack.errors import RolloutError, UsageError
from gpustack.probes.network.links import MANAGED, find_managed
from gpustack.remedy.descriptions import describe_interruption, edit_commands, manual_commands
from gpustack.remedy.scope import Scope, declare_drop_in, declare_playbook
from gpustack.remedy.step_scope import declare_step
from gpustack.rollout.next import build_command
from gpustack.rollout.overlay import host_facts
from gpustack.rollout.plan import StepState, plan
from gpustack.steps import STEPS
from gpustack.steps.containerd.files import disabling

PLAYBOOKS = ("unit", "rollout", "sysctl", "drop_in", "apt")
VARIABLE, FILES = "gpustack_remedy", "gpustack_fix"
FILE = ("path", "lines", "reload", "restart")
UNKNOWN_WHERE = "it says nothing of which host"
# What install leaves to a person, because a foreign file has to be changed; a fix shows it and asks first.
AGREED = {"containerd-cri-disabled": "cri-disabled-elsewhere"}
# Checks of that step which look at the files.
FILES_OF = ("configuration", "cri-disabled-elsewhere")
ITS_OWN = "the plugin failed to load, and the setting that containerd complains of has to be corrected by hand"


@dataclass(frozen=True)
class Offer:
    """`play` is the playbook, `hosts` where it runs; `more` are host variables, by host. `commands` say the same
    by hand, `interrupts` what stands still meanwhile. `scopes` declare, by host, all that may be changed. Nothing may
    be done where `why_not` says something."""

    finding: Finding
    fault: Fault
    play: str = ""
    hosts: tuple[str, ...] = ()
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    commands: tuple[Hint, ...] = ()
    interrupts: str = ""
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    why_not: str = ""

    @property
    def id(self) -> str:
        return self.finding.id


def offers(found: Diagnosis) -> tuple[Offer, ...]:
    return tuple(offer(found.snapshot, root) for root in found.roots)


def offer(snapshot: Snapshot, root: Finding) -> Offer:
    fault = graph().faults[root.id]
    if fault.auto == "no":
        return Offer(root, fault, why_not=f"manual: {fault.why}")
    if fault.remedy is None:
        return Offer(root, fault, why_not="manual: there is no playbook for it; use the commands above")
    if own := manual_reasons(root):
        return Offer(root, fault, why_not=f"manual: {'; '.join(own)}")
    build = offer_step if fault.remedy.step else offer_playbook
    made = build(snapshot, root, fault, fault.remedy)
    unknown = [name for name in made.hosts if not (snapshot.reach[name].reached and host_facts(snapshot, name))]
    if unknown and not made.why_not:
        return Offer(root, fault, why_not=f"too little is known of {', '.join(unknown)} to change it")
    return made


def require_faults(ids: Iterable[str]) -> None:
    """Raises UsageError with the nearest spelling."""
    known = graph().faults
    for id in ids:
        if id not in known:
            near = nearest(id, list(known))
            why = f"Did you mean {near}?" if near else ""
            raise UsageError("fix-unknown", f"There is no fault {id}.", why, Command("gpustack", "explain"))


def require_roots(ids: Iterable[str], found: Diagnosis) -> None:
    """Raises RolloutError for what is not a root cause here."""
    roots = [one.id for one in found.roots]
    for id in ids:
        if id in roots:
            continue
        judged = [one for (name, _), one in found.judged.items() if name == id]
        why = "\n".join(f"{one.where}: {one.result or one.why}" for one in judged) or "It has no check yet."
        above = [one.id for one in found.roots if any(below.id == id for below in (*one.impact, *one.correlated))]
        hint = build_command(found.snapshot.inventory, "doctor", *(["--fix", above[0]] if above else []))
        raise RolloutError("fix-not-a-root", f"{id} is no root cause here; nothing was changed.", why, hint)


def manual_reasons(root: Finding) -> list[Hint]:
    """Why its remedy does not repair it as it was found."""
    return list(dict.fromkeys(one.result.person for one in root.judged if one.result and one.result.person))


def hosts_of(root: Finding) -> tuple[str, ...]:
    return tuple(where for where in root.locations if where != CLUSTER)


def offer_step(snapshot: Snapshot, root: Finding, fault: Fault, remedy: Remedy) -> Offer:
    (step,) = (one for one in STEPS if one.id == remedy.step)
    states = plan(snapshot, [step]).states
    if not states:
        return Offer(root, fault, why_not=f"this cluster has no step {step.id}")
    if step.scope == "cluster":
        hosts: tuple[str, ...] = (View(snapshot, CLUSTER).acting,)
    else:
        # Of a fault of the cluster that a step of hosts repairs: on those that differ.
        hosts = hosts_of(root) or tuple(state.where for state in states if state.outcome == "failed")
    locations = {CLUSTER} if step.scope == "cluster" else set(hosts)
    if forbidden := find_refused(states, locations, AGREED.get(fault.id)):
        return Offer(root, fault, why_not=f"step {step.id} would be refused: {'; '.join(forbidden)}")
    if not hosts:
        return Offer(root, fault, why_not=f"step {step.id} finds no host that differs")
    if fault.id in AGREED and (others := find_untouched(states, hosts)):
        return Offer(root, fault, why_not=f"no file turns it off on {', '.join(others)}: {ITS_OWN}")
    # What no check of the step sees, it brings back all the same.
    force = [] if any(state.outcome == "failed" for state in states if state.where in locations) else ["--force"]
    agreed = {name: disabling(View(snapshot, name)) for name in hosts if fault.id in AGREED}
    edited = {file for files in agreed.values() for file in files}
    try:
        scopes = {
            name: declare_step(snapshot, step.id, agreed.get(name, ()), on_cluster=step.scope == "cluster")
            for name in hosts
        }
    except FactUnavailable as error:
        return Offer(root, fault, why_not=f"step {step.id}: too little is known of what it may change: {error}")
    return Offer(
        root,
        fault,
        step.id,
        hosts,
        {name: {FILES: {"files": files}} for name, files in agreed.items()},
        tuple(edit_commands(edited)) if edited else (Command("gpustack", "install", "--only", step.id, *force),),
        step.interrupts,
        scopes,
    )


def find_refused(states: Iterable[StepState], locations: Collection[str], agreed: str | None = None) -> list[str]:
    """What `install` leaves to a person, but for the check `agreed`."""
    there = [state for state in states if state.where in locations]
    return [f"{state.where}: {one}" for state in there for check, one in state.left if check != agreed]


def find_untouched(states: Iterable[StepState], hosts: Iterable[str]) -> list[str]:
    differing = {state.where for state in states for one in state.judgements if one.result and one.id in FILES_OF}
    return [name for name in hosts if name not in differing]


def offer_playbook(snapshot: Snapshot, root: Finding, fault: Fault, remedy: Remedy) -> Offer:
    if remedy.drop_in:
        return offer_drop_in(snapshot, root, fault, remedy.drop_in)
    words: Any = getattr(remedy, remedy.kind)
    variables = dict(words) if remedy.kind == "sysctl" else asdict(words)
    hosts = hosts_of(root)
    if remedy.rollout:
        # Of the nodes concerned alone, where it is a fault of hosts.
        facts = [host_facts(snapshot, name) for name in hosts]
        variables["nodes"] = [found["name"] for found in facts if found]
        hosts = (View(snapshot, CLUSTER).acting,)
    return Offer(
        root,
        fault,
        f"remedy/{remedy.kind}",
        hosts,
        {name: {VARIABLE: variables} for name in hosts},
        tuple(manual_commands(remedy, variables)),
        describe_interruption(remedy),
        {name: declare_playbook(remedy, variables) for name in hosts},
        why_not="" if hosts else UNKNOWN_WHERE,
    )


def offer_drop_in(snapshot: Snapshot, root: Finding, fault: Fault, file: DropIn) -> Offer:
    """On each host the variant of the file that a program reads there."""
    hosts = hosts_of(root)
    read, why_not = {}, "" if hosts else UNKNOWN_WHERE
    for name in hosts:
        try:
            read[name] = choose_drop_in(snapshot, name, file)
        except FactUnavailable as error:
            why_not = str(error)
    if others := [name for name, one in read.items() if one is None]:
        why_not = f"what manages the links of {', '.join(others)} reads no such file"
    files = {name: read.get(name) or file for name in hosts}
    remedies = [Remedy(drop_in=one) for one in dict.fromkeys(files.values())]
    return Offer(
        root,
        fault,
        "remedy/drop_in",
        hosts,
        {name: {VARIABLE: {key: asdict(one)[key] for key in FILE}} for name, one in files.items()},
        tuple(line for one in remedies for line in manual_commands(one, {})),
        next(filter(None, map(describe_interruption, remedies)), ""),
        {name: declare_drop_in(vars(one)) for name, one in files.items()},
        why_not=why_not,
    )


def choose_drop_in(snapshot: Snapshot, host: str, file: DropIn) -> DropIn | None:
    """A file that no unit has to reload is read by whoever restarts. Raises FactUnavailable."""
    if not file.reload:
        return file
    managers = {manager for manager, _, _ in find_managed(View(snapshot, host)[MANAGED])}
    there: DropIn | None = file
    while there and there.reload not in managers:
        there = there.otherwise
    return there
