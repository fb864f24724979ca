"""Remediation as a JSON document. Within a version fields are only ever added."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.health.sign import Verdict
from gpustack.remediation.ladder import State
from gpustack.remediation.result import Outcome, RemediationResult
from gpustack.remediation.rungs import RungId
from gpustack.report.document import render_result
from gpustack.report.remediation.renderings import REMEDIATION
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take


class RungRow(Shape):
    """Describe a rung of the ladder."""

    rung: RungId = take("id")
    rung_state: State = take("state")
    ends: TextOrNull
    needs: str
    rung_command: TextOrNull = take("command")


class RefusalRow(Shape):
    """Describe a guard rail that refuses the next rung."""

    guard: str
    reason: TextOrNull
    hint: TextOrNull


class RemediationDocument(Document):
    """Describe the result of `gpustack remediate`."""

    kind: Literal["gpustack/remediation/v1"] = Field("gpustack/remediation/v1", alias="schema")
    node: str = take("ladder", "case", "node", "name")
    target: str = take("ladder", "case", "target", "label")
    health: Verdict = take("ladder", "case", "verdict")
    rungs: list[RungRow] = take("ladder", "rungs")
    refusals: list[RefusalRow] = take("ladder", "refusals")
    outcome: Outcome
    reason: TextOrNull
    only_checked: bool
    seconds: Seconds
    stop_reason: TextOrNull
    evidence_directory: TextOrNull
    next: TextOrNull = take("next_command")


def render_json(result: RemediationResult, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    return render_result(REMEDIATION, RemediationDocument, result, inventory, evidence_directory=evidence)
