"""A fix and a rollback as one JSON document each. Within a version fields are only ever added. Ids are those of the
catalogue."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpustack.command import NO_HINT
from gpustack.config.inventory import Inventory
from gpustack.doctor.entry import Remediation
from gpustack.remedy.fix_result import Ending, FixResult
from gpustack.remedy.undo import Rollback
from gpustack.report.doctor.json import build_root
from gpustack.report.doctor.shape import Root
from gpustack.report.document import render_result
from gpustack.report.renderings import FIX, UNDO
from gpustack.report.schema import Document, PlaybookRun, Seconds, Shape, TextOrNull, take
from gpustack.rollout.next_command import build_command

RemainderText = Annotated[str, BeforeValidator(str)]


class HostChanges(Shape):
    """Describe the changes of a fix on a host: paths, and units and kernel parameters as `name before -> after`."""

    host: str
    files: list[str]
    systemd_units: list[str] = take("units")
    kernel_parameters: list[str] = take("keys")


class Attempt(Shape):
    """Describe the fix of one root cause. `remaining` are changes of the fix that stay after a rollback, because others
    had changed the same objects meanwhile."""

    id: str = take("offer", "id")
    locations: list[str] = take("offer", "finding", "locations")
    remediation: Remediation = take("offer", "remediation")
    outcome: Ending = take("ending")
    play: TextOrNull = take("offer", "play")
    host_names: list[str] = take("offer", "hosts")
    commands: list[str] = take("offer", "commands")
    interrupts: TextOrNull = take("offer", "interrupts")
    playbook_run: PlaybookRun | None = take("play_result")
    changes: list[HostChanges] = take("records")
    rollback_actions: list[str]
    remaining: list[RemainderText] = take("remainders")
    remaining_symptoms: list[str] = take("remaining")
    reason: TextOrNull
    seconds: Seconds


class FixDocument(Document):
    """Describe the result of `gpustack doctor --fix`. `roots` are the root causes after the fix."""

    kind: Literal["gpustack/fix/v1"] = Field("gpustack/fix/v1", alias="schema")
    healthy: bool = take("after", "healthy")
    seconds: Seconds
    initial_root_ids: list[str]
    attempts: list[Attempt]
    roots: list[Root]
    unexplained_symptom_ids: list[str]
    stop_reason: TextOrNull
    evidence_directory: TextOrNull
    undo: TextOrNull


class UndoDocument(Document):
    """Describe the result of `gpustack doctor --undo`. `id` is that of the fix that was rolled back."""

    kind: Literal["gpustack/undo/v1"] = Field("gpustack/undo/v1", alias="schema")
    id: str = take("fix", "id")
    fault: TextOrNull = take("fix", "fault")
    host_names: list[str] = take("fix", "hosts")
    actions: list[str]
    remaining: list[RemainderText] = take("remainders")
    seconds: Seconds
    evidence_directory: TextOrNull


def render_json(fix_result: FixResult, evidence: str = "") -> str:
    inventory = fix_result.after.snapshot.inventory
    is_undoable = any(attempt.is_undoable for attempt in fix_result.attempts)
    return render_result(
        FIX,
        FixDocument,
        fix_result,
        inventory,
        initial_root_ids=[root.id for root in fix_result.before.roots],
        roots=[build_root(finding, verbose=False) for finding in fix_result.after.roots],
        unexplained_symptom_ids=[symptom.id for symptom in fix_result.after.unexplained_symptoms],
        evidence_directory=evidence,
        undo=build_command(inventory, "doctor", "--undo") if is_undoable else NO_HINT,
    )


def render_rollback(rollback: Rollback, inventory: Inventory, evidence: str) -> str:
    return render_result(UNDO, UndoDocument, rollback, inventory, evidence_directory=evidence)
