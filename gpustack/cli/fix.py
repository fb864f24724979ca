"""`doctor --fix` and `doctor --undo`: confirm, hold the lock, change, and keep the evidence."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from gpustack.ask import gather
from gpustack.ask.snapshot import Snapshot
from gpustack.cli.lock_question import agree_on_places
from gpustack.cli.locked_run import Run, confirm, locked_run
from gpustack.config.inventory import Inventory
from gpustack.doctor.diagnose import diagnose, questions
from gpustack.errors import RolloutError
from gpustack.events import Reporter
from gpustack.files.write import write_file
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.remedy.copies import Copies
from gpustack.remedy.fix import Fix
from gpustack.remedy.fixed import Attempt, Fixed
from gpustack.remedy.offer import Offer, offers, require_faults, require_roots
from gpustack.remedy.undo import Rollback, find_fix, find_last_fix, roll_back
from gpustack.report.codes import fix_code
from gpustack.report.fix import json as fix_json
from gpustack.report.render import show
from gpustack.rollout.next import build_command


def run_fix(
    hosts: Inventory,
    wanted: Collection[str],
    yes_to: Collection[str],
    output: str,
    report: Reporter,
    *,
    yes: bool,
    verbose: bool,
    without_lock: Sequence[str] | None = None,
) -> int:
    """The exit status. Raises RolloutError where all fixes were declined, or none can start."""
    require_faults([*wanted, *yes_to])
    before = diagnose(gather.gather(hosts, questions(), report=report))
    require_roots(wanted, before)
    if output == "human":
        show(before, output, verbose=verbose)
    chosen = [one for one in offers(before) if not wanted or one.id in wanted]
    if not any(not one.why_not for one in chosen):
        attempts = tuple(Attempt(one, "manual", why=one.why_not) for one in chosen)
        done = Fixed(before, attempts, before, before.snapshot.took)
        show(done, output, evidence="")
        return fix_code(done)
    places = agree_on_places(before.snapshot, ["doctor", "--fix"], without=without_lock)
    with locked_run(hosts, "doctor", places, report) as run:
        is_agreed = make_agreement(yes_to, yes=yes)
        done = make_fix(run, wanted, make_confirm(is_agreed), is_agreed, output).run(before)
        run.keep(lambda folder: write_result(done, folder))
    run.keep_snapshot(done.after.snapshot)
    if not done.tried and any(one.ending == "declined" for one in done.attempts):
        ids = [word for one in done.attempts if one.offer.fault.auto == "ask" for word in ("--yes-to", one.offer.id)]
        hint = build_command(hosts, "doctor", "--fix", *(ids or ["--yes"]))
        raise RolloutError("fix-declined", "Nothing was changed.", "All fixes were declined.", hint)
    show(done, output, evidence=str(run.folder), verbose=verbose)
    return fix_code(done)


def make_fix(
    run: Run,
    wanted: Collection[str],
    agree: Callable[[Sequence[Offer]], bool],
    is_agreed: Callable[[Offer], bool],
    output: str,
) -> Fix:
    """`is_agreed` says whether --yes or --yes-to covers a fix, and with it its roll-back."""
    copies = Copies(run.hosts.hosts)

    def preview(one: Offer, snapshot: Snapshot) -> None:
        run.lock.require(one.hosts)
        lines = run.preview(one.play, one.hosts, snapshot, one.more)
        if output == "human":
            show(one, output, differences=lines, inventory=run.hosts)

    def undo(one: Offer, id: str) -> Rollback | None:
        fix = find_fix(copies, id, one.hosts)
        if output == "human":
            show(fix, output, inventory=run.hosts)
        if fix.restorable and not (is_agreed(one) or confirm(f"{one.id} was not resolved. Roll these changes back?")):
            return None
        return roll_back(Copies(run.hosts.hosts, run.execute), fix, run.record)

    return Fix(
        gather=lambda probes: gather.gather(run.hosts, probes, report=run.record),
        play=lambda one, snapshot: run.play(one.play, one.hosts, snapshot, one.more),
        copies=copies,
        undo=undo,
        show=preview,
        agree=agree,
        report=run.record,
        wanted=wanted,
        cancelled=run.stop_reason,
        factor=run.hosts.spec.timeout_factor,
    )


def make_agreement(yes_to: Collection[str], *, yes: bool) -> Callable[[Offer], bool]:
    """Return the rule of the options: --yes confirms all automatic fixes, --yes-to one."""
    return lambda one: one.id in yes_to or (yes and one.fault.auto == "safe")


def make_confirm(is_agreed: Callable[[Offer], bool]) -> Callable[[Sequence[Offer]], bool]:
    """Return the question about fixes, which is asked on the terminal where the options do not cover it."""

    def agree(some: Sequence[Offer]) -> bool:
        if all(map(is_agreed, some)):
            return True
        if len(some) == 1:
            why = f" ({some[0].fault.why})" if some[0].fault.auto == "ask" else ""
            return confirm(f"Apply the fix for {some[0].id}{why}?")
        return confirm(f"Apply all {len(some)} fixes?")

    return agree


def write_result(done: Fixed, folder: Path) -> None:
    write_file(folder / "fix.json", fix_json.text(done, str(folder)))


def run_undo(
    hosts: Inventory, output: str, report: Reporter, *, yes: bool, without_lock: Sequence[str] | None = None
) -> int:
    """The exit status. Raises RolloutError where there is nothing to roll back, or it was changed since."""
    snapshot = gather.gather(hosts, [OS, IDENTITY], report=report)
    places = agree_on_places(snapshot, ["doctor", "--undo"], without=without_lock)
    with locked_run(hosts, "doctor", places, report) as run:
        copies = Copies(hosts.hosts)
        found = find_last_fix(copies, [host.name for host in hosts.hosts if snapshot.reach[host.name].reached])
        if output == "human":
            show(found, output, inventory=hosts)
        if not yes and not confirm("Roll this back?"):
            hint = build_command(hosts, "doctor", "--undo", "--yes")
            raise RolloutError("undo-declined", "Nothing was rolled back.", "The rollback was declined.", hint)
        run.lock.require(found.hosts)
        done = roll_back(Copies(hosts.hosts, run.execute), found, run.record)
    show(done, output, inventory=hosts, evidence=str(run.folder))
    return 0
