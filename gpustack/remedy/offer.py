"""Offers of a fix: a playbook with its hosts and variables, or the reason why a root cause has none.

A step is played as `install` plays it; all other remedies are playbooks of playbooks/remedy/ with the catalogue's
parameters.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command, Hint
from gpustack.config.complaint import find_nearest, suggest_nearest
from gpustack.doctor.entry import DropIn, Fault, Remediation, Remedy
from gpustack.doctor.finding import Diagnosis, Finding
from gpustack.doctor.graph import load_graph
from gpustack.errors import RolloutError, UsageError
from gpustack.probes.network.links import LINK_STATES, find_managed_links
from gpustack.remedy.caution import describe_cautions
from gpustack.remedy.descriptions import (
    describe_gpu_pods,
    describe_interruption,
    list_edit_commands,
    list_manual_commands,
)
from gpustack.remedy.scope import Scope, declare_drop_in, declare_playbook
from gpustack.remedy.step_scope import declare_step
from gpustack.rollout.next_command import build_command
from gpustack.rollout.overlay import build_host_facts
from gpustack.rollout.plan import StepState, plan
from gpustack.steps import STEPS
from gpustack.steps.containerd.files import find_disabling_files

VARIABLE, FILES = "gpustack_remedy", "gpustack_fix"
FILE = ("path", "lines", "reload", "restart")
UNKNOWN_HOST = "it says nothing of which host"
# Checks whose repair `install` leaves to a person, because it edits a foreign file; a fix shows it and asks first.
CONFIRMED_CHECKS = {"containerd-cri-disabled": "cri-disabled-elsewhere"}
# Checks of that step that read the files.
FILE_CHECKS = ("configuration", "cri-disabled-elsewhere")
PLUGIN_FAILURE = "the plugin failed to load, and the setting that containerd complains of has to be corrected by hand"


@dataclass(frozen=True)
class Offer:
    """Describe a possible fix. `play` is the playbook, `hosts` are the hosts on which it runs, `host_variables` their
    variables. `commands` do the same by hand, `interrupts` says what does not work meanwhile, and names the pods that
    hold GPUs there. `scopes` declare, by host, all that may be changed. `obstacle` says why nothing may be done, and is
    empty otherwise. `caution` says why an automatic fix needs a confirmation of its own in this case."""

    finding: Finding
    fault: Fault
    play: str = ""
    hosts: tuple[str, ...] = ()
    host_variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    commands: tuple[Hint, ...] = ()
    interrupts: str = ""
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    obstacle: str = ""
    caution: str = ""

    @property
    def id(self) -> str:
        return self.finding.id

    @property
    def remediation(self) -> Remediation:
        """Return the remediation of the catalogue, which a caution makes stricter."""
        return "needs-confirmation" if self.caution else self.fault.remediation

    @property
    def reason(self) -> str:
        """Return why the remediation has its value."""
        return self.caution or self.fault.reason


def build_offers(diagnosis: Diagnosis) -> tuple[Offer, ...]:
    return tuple(build_offer(diagnosis.snapshot, root) for root in diagnosis.roots)


def build_offer(snapshot: Snapshot, root: Finding) -> Offer:
    fault = load_graph().faults[root.id]
    if fault.remedy is None:
        return Offer(root, fault, obstacle=f"manual: {fault.reason}")
    if reasons := list_manual_reasons(root):
        return Offer(root, fault, obstacle=f"manual: {'; '.join(reasons)}")
    build = offer_step if fault.remedy.step else offer_playbook
    offer = build(snapshot, root, fault, fault.remedy)
    unknown = [name for name in offer.hosts if not (snapshot.reach[name].reached and build_host_facts(snapshot, name))]
    if unknown and not offer.obstacle:
        return Offer(root, fault, obstacle=f"too little is known of {', '.join(unknown)} to change it")
    if offer.interrupts and (pods := describe_gpu_pods(snapshot, offer.hosts)):
        offer = replace(offer, interrupts=f"{offer.interrupts}; pods that hold GPUs: {pods}")
    if offer.obstacle or fault.remediation != "automatic":
        return offer
    return replace(offer, caution=describe_cautions(fault.remedy, snapshot, offer.hosts))


def require_faults(ids: Iterable[str]) -> None:
    """Raise UsageError for an id that is no fault, with the nearest spelling."""
    faults = load_graph().faults
    for id in ids:
        if id not in faults:
            nearest, reason = find_nearest(id, list(faults)), suggest_nearest([id], list(faults))
            hint = Command("gpustack", "explain", *([nearest] if nearest else []))
            raise UsageError("fix-unknown", f"There is no fault {id}.", reason, hint)


def require_roots(ids: Iterable[str], diagnosis: Diagnosis) -> None:
    """Raise RolloutError for an id that is not a root cause of the diagnosis."""
    roots = [finding.id for finding in diagnosis.roots]
    for id in ids:
        if id in roots:
            continue
        judgements = [step for (name, _), step in diagnosis.judgements.items() if name == id]
        reason = (
            "\n".join(f"{judgement.location}: {judgement.result or judgement.reason}" for judgement in judgements)
            or "It has no check yet."
        )
        roots_above = [
            root.id
            for root in diagnosis.roots
            if any(effect.id == id for effect in (*root.impact, *root.correlated_causes))
        ]
        hint = build_command(
            diagnosis.snapshot.inventory, "doctor", *(["--fix", roots_above[0]] if roots_above else [])
        )
        raise RolloutError("fix-not-a-root", f"{id} is no root cause here; nothing was changed.", reason, hint)


def list_manual_reasons(root: Finding) -> list[Hint]:
    """List the reasons why the remedy does not repair this case."""
    return list(
        dict.fromkeys(
            judgement.result.person for judgement in root.judgements if judgement.result and judgement.result.person
        )
    )


def list_hosts(root: Finding) -> tuple[str, ...]:
    return tuple(location for location in root.locations if location != CLUSTER)


def offer_step(snapshot: Snapshot, root: Finding, fault: Fault, remedy: Remedy) -> Offer:
    (step,) = (step for step in STEPS if step.id == remedy.step)
    states = plan(snapshot, [step]).states
    if not states:
        return Offer(root, fault, obstacle=f"this cluster has no step {step.id}")
    if step.scope == "cluster":
        hosts: tuple[str, ...] = (View(snapshot, CLUSTER).acting_host,)
    else:
        # A step of hosts that repairs a fault of the cluster runs on those that differ.
        hosts = list_hosts(root) or tuple(state.location for state in states if state.outcome == "failed")
    locations = {CLUSTER} if step.scope == "cluster" else set(hosts)
    if refusals := list_refusals(states, locations, CONFIRMED_CHECKS.get(fault.id)):
        return Offer(root, fault, obstacle=f"step {step.id} would be refused: {'; '.join(refusals)}")
    if not hosts:
        return Offer(root, fault, obstacle=f"step {step.id} finds no host that differs")
    if fault.id in CONFIRMED_CHECKS and (untouched_hosts := find_untouched(states, hosts)):
        return Offer(root, fault, obstacle=f"no file turns it off on {', '.join(untouched_hosts)}: {PLUGIN_FAILURE}")
    # The step also restores what none of its checks sees.
    force = [] if any(state.outcome == "failed" for state in states if state.location in locations) else ["--force"]
    agreed_files = {name: find_disabling_files(View(snapshot, name)) for name in hosts if fault.id in CONFIRMED_CHECKS}
    edited_files = {file for files in agreed_files.values() for file in files}
    try:
        scopes = {
            name: declare_step(snapshot, step.id, agreed_files.get(name, ()), on_cluster=step.scope == "cluster")
            for name in hosts
        }
    except FactUnavailable as error:
        return Offer(root, fault, obstacle=f"step {step.id}: too little is known of what it may change: {error}")
    return Offer(
        root,
        fault,
        step.id,
        hosts,
        {name: {FILES: {"files": files}} for name, files in agreed_files.items()},
        tuple(list_edit_commands(edited_files))
        if edited_files
        else (Command("gpustack", "install", "--only", step.id, *force),),
        step.interrupts,
        scopes,
    )


def list_refusals(
    states: Iterable[StepState], locations: Collection[str], agreed_check: str | None = None
) -> list[str]:
    """List what `install` leaves to a person at these locations, except for the check `agreed_check`."""
    step_states = [state for state in states if state.location in locations]
    return [
        f"{state.location}: {result}"
        for state in step_states
        for check, result in state.manual_differences
        if check != agreed_check
    ]


def find_untouched(states: Iterable[StepState], hosts: Iterable[str]) -> list[str]:
    differing = {
        state.location
        for state in states
        for judgement in state.judgements
        if judgement.result and judgement.id in FILE_CHECKS
    }
    return [name for name in hosts if name not in differing]


def offer_playbook(snapshot: Snapshot, root: Finding, fault: Fault, remedy: Remedy) -> Offer:
    if remedy.drop_in:
        return offer_drop_in(snapshot, root, fault, remedy.drop_in)
    parameters: Any = getattr(remedy, remedy.kind)
    variables = dict(parameters) if remedy.kind == "sysctl" else asdict(parameters)
    hosts = list_hosts(root)
    if remedy.rollout:
        # A fault of hosts restarts the pods of their nodes only.
        facts = [build_host_facts(snapshot, name) for name in hosts]
        variables["nodes"] = [fact["name"] for fact in facts if fact]
        hosts = (View(snapshot, CLUSTER).acting_host,)
    return Offer(
        root,
        fault,
        f"remedy/{remedy.kind}",
        hosts,
        {name: {VARIABLE: variables} for name in hosts},
        tuple(list_manual_commands(remedy, variables)),
        describe_interruption(remedy),
        {name: declare_playbook(remedy, variables) for name in hosts},
        obstacle="" if hosts else UNKNOWN_HOST,
    )


def offer_drop_in(snapshot: Snapshot, root: Finding, fault: Fault, file: DropIn) -> Offer:
    """Offer on each host the variant of the file that a program reads there."""
    hosts = list_hosts(root)
    read, obstacle = {}, "" if hosts else UNKNOWN_HOST
    for name in hosts:
        try:
            read[name] = choose_drop_in(snapshot, name, file)
        except FactUnavailable as error:
            obstacle = str(error)
    if unreadable_hosts := [name for name, variant in read.items() if variant is None]:
        obstacle = f"what manages the links of {', '.join(unreadable_hosts)} reads no such file"
    files = {name: read.get(name) or file for name in hosts}
    remedies = [Remedy(drop_in=drop_in) for drop_in in dict.fromkeys(files.values())]
    return Offer(
        root,
        fault,
        "remedy/drop_in",
        hosts,
        {name: {VARIABLE: {key: asdict(file)[key] for key in FILE}} for name, file in files.items()},
        tuple(line for remedy in remedies for line in list_manual_commands(remedy, {})),
        next(filter(None, map(describe_interruption, remedies)), ""),
        {name: declare_drop_in(vars(file)) for name, file in files.items()},
        obstacle=obstacle,
    )


def choose_drop_in(snapshot: Snapshot, host: str, file: DropIn) -> DropIn | None:
    """Choose the variant of the file for the program that manages the links of a host; None where no program reads one.
    A file without a unit to reload has no variants. Raise FactUnavailable where the links are not known."""
    if not file.reload:
        return file
    managers = {manager for manager, _, _ in find_managed_links(View(snapshot, host)[LINK_STATES])}
    variant: DropIn | None = file
    while variant and variant.reload not in managers:
        variant = variant.otherwise
    return variant
