"""Commands for a root cause with the names of its hosts: those of the catalogue that help there, the automatic fix if
there is one, and the part that a person has to do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Hint, Template, name_inventory, quote_word
from gpustack.config.inventory import Inventory
from gpustack.doctor.finding import Commands, Diagnosis, Finding, UnexplainedSymptom
from gpustack.doctor.graph import load_graph
from gpustack.doctor.starting import USUAL_SECONDS
from gpustack.remedy.offer import PLUGIN_FAILURE, Offer, build_offer, list_manual_reasons
from gpustack.rollout.next_command import build_command
from gpustack.rollout.plan import StepState, plan
from gpustack.steps import STEPS
from gpustack.steps.own_node import confirm_node

SPACES = re.compile(r"(?<= -n )(gpu-operator|monitoring)\b")
"""The names of the namespaces in the catalogue, which the spec may name otherwise."""
INSTALL = re.compile(r"gpustack install --only (?P<steps>[\w,-]+)$")
LONG = 200
"""The number of characters of a hint. `gpustack plan` shows longer ones beside their finding."""


def add_commands(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the commands of each root cause, and the next one of each unexplained symptom."""
    snapshot = diagnosis.snapshot
    roots = tuple(replace(root, commands=build_commands(root, snapshot)) for root in diagnosis.roots)
    symptoms = tuple(
        replace(symptom, next_command=fill_next_check(symptom, snapshot)) for symptom in diagnosis.unexplained_symptoms
    )
    return replace(diagnosis, verdict=replace(diagnosis.verdict, roots=roots, unexplained_symptoms=symptoms))


def fill_next_check(symptom: UnexplainedSymptom, snapshot: Snapshot) -> Hint:
    """Return the next check of a symptom with the names of its host, as far as it has one."""
    view = select_single_host(symptom.locations, snapshot)
    return fill_host_line(symptom.next_check, snapshot.inventory, view, find_node_name(view) if view else {})


def select_single_host(locations: Sequence[str], snapshot: Snapshot) -> View | None:
    is_single = len(locations) == 1 and CLUSTER not in locations
    return View(snapshot, locations[0]) if is_single else None


def build_commands(finding: Finding, snapshot: Snapshot) -> Commands:
    """Build the commands for a finding. With several hosts, HOST and NODE stay as they are, because each host needs its
    own command; so does a word whose value differs between hosts. While a host is starting there is none but to wait,
    because what is found may pass."""
    if finding.starts:
        reasons = [f"{start.location}: {start}" for start in finding.starts]
        advice = f"it may pass, because pods usually work {USUAL_SECONDS} s after the start"
        return Commands((build_command(snapshot.inventory, "doctor", "--wait"),), manual=(*reasons, advice))
    offer, states = build_offer(snapshot, finding), judge_named_steps(finding, snapshot)
    catalogue_lines = load_graph().faults[finding.id].fix.commands if finding.has_remedy else ()
    lines = (adapt_install(line, offer, states) for line in catalogue_lines)
    limit = ",".join(location for location in finding.locations if location != CLUSTER)
    view = select_single_host(finding.locations, snapshot)
    names = {
        **find_shared_names(finding),
        **(find_node_name(view) if view else {}),
        **({"LIMIT": limit} if limit else {}),
    }
    repairs = tuple(fill_host_line(line, snapshot.inventory, view, names) for line in lines if line)
    fix = NO_HINT if offer.obstacle else build_command(snapshot.inventory, "doctor", "--fix", finding.id)
    manual = tuple(dict.fromkeys([*list_manual_reasons(finding), *describe_refusals(states)]))
    return Commands(repairs, fix, manual, offer.caution)


def fill_host_line(line: str, inventory: Inventory, view: View | None, names: Mapping[str, str]) -> Hint:
    """Return a line of the catalogue with these names, and with the address of the host where it is of one host."""
    return fill_line(line, inventory, {**names, **({"HOST": format_host_address(view, line)} if view else {})})


def fill_line(line: str, inventory: Inventory, names: Mapping[str, str]) -> Hint:
    """Return a line of the catalogue for the same hosts, with the namespaces of the spec and with these names."""
    if line.startswith("kubectl "):
        namespaces = {"gpu-operator": inventory.spec.gpu.namespace, "monitoring": inventory.spec.monitoring.namespace}
        return Template(SPACES.sub(lambda space: quote_word(namespaces[space[1]]), line)).fill(names)
    return name_inventory(Template(line).fill(names), inventory.name)


def find_shared_names(finding: Finding) -> dict[str, str]:
    """Return the names that the finding has with the same value on all its hosts."""
    found_names = [set(judgement.result.names) for judgement in finding.judgements if judgement.result]
    return dict(set.intersection(*found_names)) if found_names else {}


def adapt_install(line: str, offer: Offer, states: Sequence[StepState]) -> str:
    """Adapt a line that is an `install` command so that it changes something: with --force where its checks see no
    difference. Return an empty text where the cluster has no such step, or the step is refused there or does not repair
    it."""
    if not (match := INSTALL.match(line)):
        return line
    own_states = [state for state in states if state.step in match["steps"].split(",")]
    if not own_states or any(state.manual_differences for state in own_states):
        return ""
    if list_manual_reasons(offer.finding) or offer.obstacle.endswith(PLUGIN_FAILURE):
        return ""
    return line if any(state.outcome != "ok" for state in own_states) else f"{line} --force"


def judge_named_steps(finding: Finding, snapshot: Snapshot) -> list[StepState]:
    """Judge the steps that the catalogue names, on the hosts of a finding; for a fault of the cluster that a step of
    hosts repairs, on all hosts."""
    lines = load_graph().faults[finding.id].fix.commands
    ids = {id for line in lines if (match := INSTALL.match(line)) for id in match["steps"].split(",")}
    hosts = {location for location in finding.locations if location != CLUSTER} or {
        host.name for host in snapshot.inventory.hosts
    }
    steps = [step for step in STEPS if step.id in ids]
    return [state for state in plan(snapshot, steps).states if state.location in {*hosts, CLUSTER}]


def describe_refusals(states: Sequence[StepState]) -> Iterator[str]:
    for _, result in (refusal for state in states for refusal in state.manual_differences):
        hint = result.hint if len(result.hint) <= LONG else "gpustack plan shows how"
        yield f"{result}{f'; {hint}' if hint else ''}"


def find_node_name(view: View) -> dict[str, str]:
    """Return the value of NODE, where the node of the host is known."""
    try:
        node = confirm_node(view)
    except FactUnavailable:
        return {}
    return {"NODE": node.name} if node else {}


def format_host_address(view: View, line: str) -> str:
    """Format the value of HOST: for ssh(1) with the user and the port of the inventory, for ssh-keygen(1) as in
    known_hosts, which names other ports than 22."""
    address, port = view.host.address or view.location, view.host.port or 22
    bracketed_address = f"[{address}]:{port}" if port != 22 else address
    if not line.startswith("ssh "):
        return bracketed_address if line.startswith("ssh-keygen ") else address
    login = f"{view.host.user}@" if view.host.user else ""
    if port != 22:
        return f"ssh://{login}{bracketed_address if ':' in address else f'{address}:{port}'}"
    return f"{login}{address}"
