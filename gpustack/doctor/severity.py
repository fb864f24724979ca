"""Severity of root causes: what does not work now, what harms nothing yet, and what is a limit of the hardware."""

from collections.abc import Iterable

from gpustack.ask.judge import Judgement
from gpustack.doctor.graph import Graph
from gpustack.doctor.states.state import SEVERITIES, Severity


def judge_severity(graph: Graph, judgements: Iterable[Judgement], impact: Iterable[Judgement]) -> Severity:
    """Judge how severe a root cause is: as the catalogue says, or its check of what it found. It is broken in any case
    where something that it explains does not work."""
    if any(is_broken(graph, effect) for effect in impact):
        return "broken"
    return select_worst(find_own_severity(graph, judgement) for judgement in judgements)


def is_broken_by_effects(graph: Graph, judgements: Iterable[Judgement], severity: Severity) -> bool:
    """Tell whether a root cause of this severity is broken because of its effects alone."""
    return severity == "broken" and all(find_own_severity(graph, judgement) != "broken" for judgement in judgements)


def is_broken(graph: Graph, effect: Judgement) -> bool:
    """Tell whether a confirmed effect is something that does not work, as all states are."""
    fault = graph.faults.get(effect.id)
    return fault is None or (fault.role != "info" and find_own_severity(graph, effect) == "broken")


def find_own_severity(graph: Graph, judgement: Judgement) -> Severity:
    """Find the severity of a confirmed fault without its effects."""
    severity = graph.faults[judgement.id].severity
    is_risk = severity == "broken" and judgement.result is not None and judgement.result.latent
    return "risk" if is_risk else severity


def select_worst(severities: Iterable[Severity]) -> Severity:
    return min(severities, key=SEVERITIES.index)
