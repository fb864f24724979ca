"""Questions of a second round, which depend on the answers of the first one: of what is abnormal and no certain root
cause explains.

A recording without a second round is diagnosed as before, and what a second round does not answer says nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe, collect_answers
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.doctor.finding import Diagnosis, Finding
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.state import AbnormalState
from gpustack.probes.gpu.logs import LOGS as LOGS_OF_GPUS
from gpustack.probes.kubernetes.container_logs import LAST_LINES, LOGS, ContainerLog

MAX_LOGS = 8
"""The most logs that one round asks for."""


@dataclass(frozen=True)
class Questions:
    """Hold what to ask: the probes, the hosts to send them to, and the variables of their scripts."""

    probes: tuple[Probe[Any], ...]
    hosts: tuple[str, ...]
    variables: Mapping[str, str]


def build_questions(diagnosis: Diagnosis) -> Questions | None:
    """Build the questions of the second round; None where nothing is unexplained, or nothing more can be asked."""
    logs = select_logs(diagnosis)
    if not logs:
        return None
    host = View(diagnosis.snapshot, View(diagnosis.snapshot, CLUSTER).acting_host)
    return Questions((LAST_LINES,), (host.location,), {LOGS: " ".join(map(str, logs))}) if host.reached else None


def list_unexplained_states(diagnosis: Diagnosis) -> Iterator[AbnormalState]:
    """List what is broken or a risk and has no certain root cause. A note is for users, and a root cause from which
    nothing suffers explains nothing."""
    spec = diagnosis.snapshot.inventory.spec
    roots = [root for root in diagnosis.select_roots("broken") if root.certainty == "certain"]
    for state in diagnosis.abnormal_states:
        if state.severity != "note" and not any(is_explained(state, root, spec) for root in roots):
            yield state


def select_logs(diagnosis: Diagnosis) -> tuple[ContainerLog, ...]:
    """Select the logs to ask for, at most MAX_LOGS: those of broken containers first, and of the state that most pods
    have. The logs of users are not read."""
    states = sorted(
        list_unexplained_states(diagnosis), key=lambda state: (state.severity != "broken", -len(state.subjects))
    )
    logs = dict.fromkeys(state.log for state in states if state.log and state.log.has_valid_names)
    return tuple(logs)[:MAX_LOGS]


def is_explained(state: AbnormalState, root: Finding, spec: Spec) -> bool:
    """Tell whether a root cause explains a state: it or its impact rests on the same answer, or it has an impact on a
    host of the state and covers its namespace."""
    evidence = [entry for judgement in (*root.judgements, *root.impact) for entry in judgement.evidence]
    if collect_answers(evidence) & collect_answers(state.evidence):
        return True
    has_impact = any(judgement.location in state.locations for judgement in root.impact)
    return has_impact and state.log is not None and covers_namespace(root, state.log.namespace, spec)


def covers_namespace(root: Finding, namespace: str, spec: Spec) -> bool:
    """Tell whether a root cause covers the containers of a namespace: those of its layer, and all where the layer is
    below them. The exporters of the layer monitoring are beside the GPU operator."""
    gpu = spec.gpu.namespace
    namespaces_by_layer = {
        "autoscaling": (spec.autoscaling.namespace,),
        "gpu-host": (gpu,),
        "gpu-operator": (gpu,),
        "monitoring": (gpu, spec.monitoring.namespace),
    }
    return namespace in namespaces_by_layer.get(load_graph().faults[root.id].layer, (namespace,))


def add_last_lines(state: AbnormalState, snapshot: Snapshot) -> AbnormalState:
    """Return a state with the last lines in the log of its container, where a second round has asked for it, else with
    the errors in it that the first round found."""
    if state.log is None:
        return state
    view = View(snapshot, CLUSTER)
    try:
        last_lines = view[LAST_LINES].get(str(state.log), ())
    except FactUnavailable:
        return add_error_lines(state, state.log, snapshot)
    return replace(state, last_lines=last_lines, evidence=(*state.evidence, *view.evidence)) if last_lines else state


def add_error_lines(state: AbnormalState, log: ContainerLog, snapshot: Snapshot) -> AbnormalState:
    """Return a state with the errors of NVIDIA's programs in the log of its container, where its host has read them."""
    for location in state.locations:
        view = View(snapshot, location)
        if location == CLUSTER or not view.has_fact(LOGS_OF_GPUS):
            continue
        own_lines = (line for line in view[LOGS_OF_GPUS] if (line.pod, line.container) == (log.pod, log.container))
        if last_lines := tuple(dict.fromkeys(line.line for line in own_lines)):
            return replace(state, last_lines=last_lines, evidence=(*state.evidence, *view.evidence))
    return state
