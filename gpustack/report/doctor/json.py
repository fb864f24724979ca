"""A diagnosis as one JSON document, with the shape of gpustack/report/doctor/shape.py."""

from typing import Any

from gpustack.ask.judge import Outcome
from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis, Finding, Unexplained, with_outcome
from gpustack.doctor.graph import graph
from gpustack.doctor.peers import peers
from gpustack.doctor.recent_changes import changed
from gpustack.remedy.commands import commands
from gpustack.report.codes import DIAGNOSED, doctor_code
from gpustack.report.doctor.shape import DoctorDocument
from gpustack.report.document import document, ending
from gpustack.report.json import drop_evidence, select_snapshot

BESIDE = ("suspects", "ruled_out", "impact", "caused", "uncertain")


def text(found: Diagnosis, *, verbose: bool = False) -> str:
    wanted: tuple[Outcome, ...] = ("failed", "unknown", *(("ok",) if verbose else ()))
    kept = [one for one in with_outcome(found.judged, *wanted) if one.id in graph()]
    values = {
        **select_snapshot(found.snapshot),
        "exit": ending(doctor_code(found), DIAGNOSED),
        "healthy": found.healthy,
        "roots": [root(one, found, verbose=verbose) for one in found.roots],
        "unexplained": [select_fields(one, verbose=verbose) for one in found.unexplained],
        "notes": drop_evidence(found.verdict.notes),
        "drift": found.drift,
        "judged": kept if verbose else drop_evidence(kept),
        "unchecked": found.unchecked,
    }
    return document(DoctorDocument, values, found.snapshot.inventory)


def root(found: Finding, of: Diagnosis, *, verbose: bool) -> dict[str, Any]:
    fault = graph().faults[found.id]
    return {
        **select_fields(found, verbose=verbose),
        "layer": fault.layer,
        "cause": fault.cause,
        "changed": changed(found, of.snapshot),
        "healthy_hosts": peers(found, of.judged),
        "fix": {
            "auto": fault.auto,
            "reason": fault.why,
            "do": fault.fix.do,
            "commands": commands(found, of.snapshot).repairs,
            "step": fault.remedy and fault.remedy.step,
        },
        "explain": Command("gpustack", "explain", found.id),
    }


def select_fields(found: Finding | Unexplained, *, verbose: bool) -> dict[str, Any]:
    """Without -v, only what is confirmed has evidence."""
    values = {**vars(found), "locations": found.locations}
    return values if verbose else values | {name: drop_evidence(values[name]) for name in BESIDE if name in values}
