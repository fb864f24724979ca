"""Units that ended by themselves. A remedy that starts one again does not help: it ends again, for the same reason."""

from dataclasses import replace

from gpustack.ask.judge import Judgement
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.doctor.checks.last_words import find_last_words
from gpustack.doctor.finding import Finding
from gpustack.doctor.graph import load_graph
from gpustack.probes.host.failed_units import FAILED_UNITS
from gpustack.probes.host.units import UNITS


def limit_remedy(root: Finding, snapshot: Snapshot) -> Finding:
    """Return a root cause. Where its remedy starts a unit that ended by itself, it is likely, and its judgements say
    what a person has to do."""
    remedy = load_graph().faults[root.id].remedy
    if remedy is None or remedy.unit is None:
        return root
    judgements = tuple(limit_judgement(judgement, remedy.unit.name, snapshot) for judgement in root.judgements)
    return root if judgements == root.judgements else replace(root, judgements=judgements, certainty="likely")


def limit_judgement(judgement: Judgement, unit: str, snapshot: Snapshot) -> Judgement:
    view = View(snapshot, judgement.location)
    result = judgement.result
    if result is None or result.person or not has_ended(view, unit):
        return judgement
    last_words = find_last_words(view, f"{unit}.service")
    actual = "; ".join(filter(None, (result.actual, f"{unit} ended by itself", last_words)))
    journal = Command("journalctl", "-u", unit, "-b")
    person = Prose("no start corrects what made {} end by itself: {} names the reason", unit, journal)
    result = replace(result, actual=actual, person=person, certain=False)
    return replace(judgement, result=result, evidence=(*judgement.evidence, *view.evidence))


def has_ended(view: View, unit: str) -> bool:
    """Tell whether a unit failed, or is started again and again. An unavailable answer says nothing of it."""
    failed_units = view[FAILED_UNITS] if view.has_fact(FAILED_UNITS) else ()
    known_unit = view[UNITS].get(unit) if view.has_fact(UNITS) else None
    is_known_to_end = known_unit is not None and known_unit.ended and not known_unit.active
    return is_known_to_end or any(failed_unit.name == f"{unit}.service" for failed_unit in failed_units)
