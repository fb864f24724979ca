"""Questions of a second round: the logs of containers in abnormal states that no certain root cause explains.

They depend on the answers of the first round. A recording without a second round is diagnosed as before, and what a
second round does not answer says nothing.
"""

from collections.abc import Iterable
from dataclasses import replace

from gpustack.ask.probe import CLUSTER, FactUnavailable, collect_answers
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.doctor.finding import Diagnosis, Finding
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.state import AbnormalState
from gpustack.probes.kubernetes.container_logs import LAST_LINES, ContainerLog

MAX_LOGS = 8
"""The most logs that one round asks for."""


def select_logs(diagnosis: Diagnosis) -> tuple[ContainerLog, ...]:
    """Select the logs to ask for, at most MAX_LOGS: those of broken containers first, and of the state that most pods
    have. The logs of users are not read."""
    states = [
        state
        for state in diagnosis.abnormal_states
        if state.severity != "note" and not is_explained(state, diagnosis.roots, diagnosis.snapshot.inventory.spec)
    ]
    states.sort(key=lambda state: (state.severity != "broken", -len(state.subjects)))
    logs = dict.fromkeys(state.log for state in states if state.log and state.log.has_valid_names)
    return tuple(logs)[:MAX_LOGS]


def is_explained(state: AbnormalState, roots: Iterable[Finding], spec: Spec) -> bool:
    """Tell whether a certain root cause explains a state: it or its impact rests on the same answer, or it has an
    impact on a host of the state and concerns its namespace."""
    answers = collect_answers(state.evidence)
    for root in roots:
        evidence = [entry for judgement in (*root.judgements, *root.impact) for entry in judgement.evidence]
        has_impact = any(judgement.location in state.locations for judgement in root.impact)
        is_near = has_impact and state.log is not None and covers_namespace(root, state.log.namespace, spec)
        if root.certainty == "certain" and (is_near or answers & collect_answers(evidence)):
            return True
    return False


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
    """Return a state with the last lines in the log of its container, where a second round has asked for it."""
    if state.log is None:
        return state
    view = View(snapshot, CLUSTER)
    try:
        last_lines = view[LAST_LINES].get(str(state.log), ())
    except FactUnavailable:
        return state
    return replace(state, last_lines=last_lines, evidence=(*state.evidence, *view.evidence)) if last_lines else state
