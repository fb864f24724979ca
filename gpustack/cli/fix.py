"""The runs of `doctor --fix` and `doctor --undo`, which confirm, hold the lock, change hosts and keep the evidence."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from gpustack.ask import gather
from gpustack.ask.snapshot import Snapshot
from gpustack.cli.doctor_wait import diagnose_when_started
from gpustack.cli.option_groups import LockSession
from gpustack.cli.questions import agree_on_places, confirm
from gpustack.cli.rounds import diagnose_hosts
from gpustack.config.inventory import Inventory
from gpustack.errors import RolloutError
from gpustack.files.write import write_file
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.remedy.commands import add_commands
from gpustack.remedy.copies import Copies
from gpustack.remedy.fix import Fix
from gpustack.remedy.fix_result import Attempt, FixResult
from gpustack.remedy.offer import Offer, build_offers, require_faults, require_roots
from gpustack.remedy.undo import Rollback, find_fix, find_last_fix, roll_back
from gpustack.report.fix import json as fix_json
from gpustack.rollout.next_command import build_command
from gpustack.rollout.run import Run


def run_fix(session: LockSession, hosts: Inventory, faults: Collection[str], yes_to: Collection[str]) -> FixResult:
    """Fix the root causes that have an automatic fix, once no host is starting. Raise RolloutError where
    all fixes were declined, or none can start."""
    require_faults([*faults, *yes_to])
    before = add_commands(diagnose_when_started(lambda: diagnose_hosts(hosts, session.report), session.report))
    require_roots(faults, before)
    session.show_preview(before)
    chosen_offers = [offer for offer in build_offers(before) if not faults or offer.id in faults]
    if all(offer.obstacle for offer in chosen_offers):
        attempts = tuple(Attempt(offer, "manual", reason=offer.obstacle) for offer in chosen_offers)
        return FixResult(before, attempts, before, before.snapshot.seconds)
    places = agree_on_places(before.snapshot, ["doctor", "--fix"], unlocked_hosts=session.without_lock)
    with session.open_run(hosts, "doctor", places) as run:
        is_agreed = make_agreement(yes_to, yes=session.yes)
        result = make_fix(session, run, faults, make_confirm(is_agreed), is_agreed).run(before)
        run.keep(lambda folder: write_result(result, folder))
    run.keep_snapshot(result.after.snapshot)
    if not result.tried_attempts and any(attempt.ending == "declined" for attempt in result.attempts):
        ids = [
            word
            for attempt in result.attempts
            if attempt.offer.remediation == "needs-confirmation"
            for word in ("--yes-to", attempt.offer.id)
        ]
        hint = build_command(hosts, "doctor", "--fix", *(ids or ["--yes"]))
        raise RolloutError("fix-declined", "Nothing was changed.", "All fixes were declined.", hint)
    return result


def make_fix(
    session: LockSession,
    run: Run,
    faults: Collection[str],
    agree: Callable[[Sequence[Offer]], bool],
    is_agreed: Callable[[Offer], bool],
) -> Fix:
    """Build the fix of a run. `is_agreed` tells whether --yes or --yes-to confirms a fix and its rollback."""
    copies = Copies(run.hosts.hosts)

    def preview(offer: Offer, snapshot: Snapshot) -> None:
        run.lock.require(offer.hosts)
        lines = run.preview(offer.play, offer.hosts, snapshot, offer.host_variables)
        session.show_preview(offer, differences=lines)

    def undo(offer: Offer, id: str) -> Rollback | None:
        fix = find_fix(copies, id, offer.hosts)
        session.show_preview(fix)
        if fix.restorable and not (
            is_agreed(offer) or confirm(f"{offer.id} was not resolved. Roll these changes back?")
        ):
            return None
        return roll_back(Copies(run.hosts.hosts, run.execute), fix, run.record)

    return Fix(
        gather=lambda probes: gather.gather(run.hosts, probes, report=run.record),
        play=lambda offer, snapshot: run.play(offer.play, offer.hosts, snapshot, offer.host_variables),
        copies=copies,
        undo=undo,
        show=preview,
        agree=agree,
        report=run.record,
        fault_ids=faults,
        cancellation=run.find_stop_reason,
        factor=run.hosts.spec.timeout_factor,
    )


def make_agreement(yes_to: Collection[str], *, yes: bool) -> Callable[[Offer], bool]:
    """Return the predicate of the options: --yes confirms all automatic fixes, and --yes-to confirms one fix."""
    return lambda offer: offer.id in yes_to or (yes and offer.remediation == "automatic")


def make_confirm(is_agreed: Callable[[Offer], bool]) -> Callable[[Sequence[Offer]], bool]:
    """Return the question about fixes. It is asked on the terminal where the options do not answer it."""

    def agree(offers: Sequence[Offer]) -> bool:
        if all(map(is_agreed, offers)):
            return True
        if len(offers) == 1:
            reason = f" ({offers[0].reason})" if offers[0].remediation == "needs-confirmation" else ""
            return confirm(f"Apply the fix for {offers[0].id}{reason}?")
        return confirm(f"Apply all {len(offers)} fixes?")

    return agree


def write_result(result: FixResult, folder: Path) -> None:
    write_file(folder / "fix.json", fix_json.render_json(result, str(folder)))


def run_undo(session: LockSession, hosts: Inventory) -> Rollback:
    """Roll back the last fix. Raise RolloutError where there is nothing to roll back, or where the changes were changed
    since."""
    snapshot = gather.gather(hosts, [OS, IDENTITY], report=session.report)
    places = agree_on_places(snapshot, ["doctor", "--undo"], unlocked_hosts=session.without_lock)
    with session.open_run(hosts, "doctor", places) as run:
        copies = Copies(hosts.hosts)
        last_fix = find_last_fix(copies, [host.name for host in hosts.hosts if snapshot.reach[host.name].reached])
        session.show_preview(last_fix)
        if not session.yes and not confirm("Roll this back?"):
            hint = build_command(hosts, "doctor", "--undo", "--yes")
            raise RolloutError("undo-declined", "Nothing was rolled back.", "The rollback was declined.", hint)
        run.lock.require(last_fix.hosts)
        return roll_back(Copies(hosts.hosts, run.execute), last_fix, run.record)
