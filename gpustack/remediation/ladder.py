"""The ladder of a case: its rungs with what each ends, and the one that is next."""

from dataclasses import dataclass
from typing import Literal

from gpustack.command import NO_HINT, Hint
from gpustack.events import format_count
from gpustack.nodes.gpu_jobs import describe_jobs, find_gpu_jobs
from gpustack.nodes.residents import Resident
from gpustack.remediation.case import Case
from gpustack.remediation.guards import GUARDS, Refusal
from gpustack.remediation.rungs import ACTS, NEEDS, RETURN, RUNGS_BY_VERDICT, ActId, RungId
from gpustack.rollout.next_command import build_command

State = Literal["done", "next", "open"]


@dataclass(frozen=True)
class Rung:
    """Describe a rung. `ends` says what it ends, and `command` is what a person types for it."""

    id: RungId
    state: State
    ends: str
    needs: str
    command: Hint


@dataclass(frozen=True)
class Ladder:
    """Hold the rungs of a case, and what stands against the next one."""

    case: Case
    rungs: tuple[Rung, ...]
    refusals: tuple[Refusal, ...]

    @property
    def next_rung(self) -> Rung | None:
        return next((rung for rung in self.rungs if rung.state == "next"), None)

    @property
    def next_act(self) -> ActId | None:
        """Return the next rung where gpustack takes it, None where it is a person's or there is none."""
        return next((act for act in ACTS if self.next_rung and act == self.next_rung.id), None)

    @property
    def refused_pods(self) -> tuple[Resident, ...]:
        """Return the pods that have to be named before a drain, where that is the next rung."""
        return self.case.drain.select("refused") if self.next_act == "drain" else ()


def build_ladder(case: Case) -> Ladder:
    ids = list_rung_ids(case)
    next_id = next((rung for rung in ids if not is_done(case, rung)), None)
    rungs = tuple(
        Rung(
            rung,
            "next" if rung == next_id else "done" if is_done(case, rung) else "open",
            describe_loss(case, rung),
            NEEDS[rung],
            build_rung_command(case, rung),
        )
        for rung in ids
    )
    refusals = (
        tuple(
            Refusal(guard.id, reason, guard.advise(case))
            for guard in GUARDS
            if next_id in guard.rungs and not (case.killed_reset and guard.id != "person-cordon")
            if (reason := guard.explain(case))
        )
        if next_id in ACTS
        else ()
    )
    return Ladder(case, rungs, refusals)


def list_rung_ids(case: Case) -> tuple[RungId, ...]:
    """List the rungs of a case. One whose GPUs are well again after an act has the rungs of the verdict that asked for
    it, of which the others are not due any more."""
    returning = RETURN if case.drain.cordon == "gpustack" else ()
    if case.killed_reset:
        return "reset", *returning
    if case.withholds_gpus:
        return "device-plugin", *returning
    if has_recovered(case):
        return *(act for act in ACTS if is_done(case, act)), *returning
    due = RUNGS_BY_VERDICT.get(case.request, ())
    return (*due, *RETURN) if due else returning


def has_recovered(case: Case) -> bool:
    """Tell whether the verdict asks for nothing more after a reset or a reboot. Where the last Xid is still in the
    exporter, one source asks for it alone."""
    return case.verdict in ("ok", "watch") and any(act.rung in ("reset", "reboot") for act in case.recent_acts)


def is_done(case: Case, rung: RungId) -> bool:
    """Tell whether a rung was taken. One that failed, or whose end is not known, is not taken twice; a reboot that was
    killed is continued."""
    if rung == "cordon":
        return case.node.cordoned
    if rung == "drain":
        return case.drain.is_complete
    if rung not in ("reset", "reboot") or case.killed_reset or (rung == "reboot" and case.node.reboot_record):
        return False
    gpus = set(case.due_gpus)
    return any(act.rung == rung and (rung == "reboot" or gpus <= set(act.gpus)) for act in case.recent_acts)


def describe_loss(case: Case, rung: RungId) -> str:
    """Describe what a rung ends; empty where that is nothing."""
    leaving = case.drain.select("leaves")
    if rung == "drain" and leaving:
        jobs = find_gpu_jobs(leaving)
        return f"{format_count(len(leaving), 'pod')}{f', GPU jobs: {describe_jobs(jobs)}' if jobs else ''}"
    if rung == "reset" and not case.killed_reset:
        return "the exporter and the device plugin of the node, for as long as it takes"
    return "everything on the host" if rung == "reboot" else ""


def build_rung_command(case: Case, rung: RungId) -> Hint:
    """Build the command that takes a rung."""
    inventory, node, host = case.inventory, case.node.name, case.drain.host
    match rung:
        case "hand-over":
            return build_command(inventory, "snapshot", "--redact", "addresses", "--out", f"{node}.jsonl")
        case "diag":
            return build_command(inventory, "gpu", "diag", "--cordoned", "--node", node)
        case "prove":
            return build_command(inventory, "prove", "--cordoned", *(["--limit", host] if host else []))
        case "uncordon":
            return build_command(inventory, "node", "uncordon", node)
    return build_command(inventory, "remediate", case.target.label) if rung in ACTS else NO_HINT
