"""`reset`: uninstall. Shows what will be removed from each host, confirms, removes it, and verifies."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.errors import RolloutError

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.events import Reporter
    from gpustack.rollout.lease import Places
    from gpustack.rollout.removal import Removal
    from gpustack.rollout.reset import ResetOutcome


def reset(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    packages: Annotated[
        bool, typer.Option("--packages", help="Also remove the packages that gpustack installed.")
    ] = False,
    foreign: Annotated[
        bool, typer.Option("--foreign", help="Also remove hosts from a cluster that is not this inventory's.")
    ] = False,
    yes: options.YesOption = False,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    output: options.ShortOutputOption = options.ShortOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Uninstall: show what will be removed from the hosts, the cluster included; confirm, remove, verify."""
    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    from gpustack.cli.lock_question import agree_on_places
    from gpustack.cli.locked_run import confirm, repeat_command
    from gpustack.report.codes import reset_code
    from gpustack.report.render import show
    from gpustack.rollout.removal import PROBES, removal
    from gpustack.rollout.reset import refuse_removal

    names = session.choose_hosts(hosts, limit)
    before = removal(session.gather_all(hosts, report, PROBES, names), names, packages=packages, foreign=foreign)
    if not before.due and (foreign or not before.foreign):
        show(before, output.value)
        raise typer.Exit(8 if before.unreached else 0)
    if output is options.ShortOutput.HUMAN:
        show(before, output.value)
    refuse_removal(before, foreign=foreign)
    if not yes and not confirm("Remove all of this?"):
        why = "The removal was declined."
        flags = ("--packages" if packages else "", "--foreign" if foreign else "", "-K" if become else "")
        hint = repeat_command("reset", hosts, *flags, **{"limit": limit, "without-lock": without_lock})
        raise RolloutError("reset-declined", "Nothing was removed.", why, hint)
    places = agree_on_places(before.snapshot, ["reset"], names, without_lock)
    outcome, folder = run_reset(hosts, names, before, report, places, packages=packages, foreign=foreign)
    show(outcome, output.value, evidence=str(folder))
    raise typer.Exit(reset_code(outcome))


def run_reset(
    hosts: "Inventory",
    names: Sequence[str],
    before: "Removal",
    report: "Reporter",
    places: "Places",
    *,
    packages: bool,
    foreign: bool,
) -> tuple["ResetOutcome", Path]:
    """Takes the lock, runs the playbook, verifies, and keeps the evidence in a directory. Raises RolloutError where
    hosts are no longer what was shown."""
    from gpustack.ask.gather import gather
    from gpustack.cli.locked_run import locked_run
    from gpustack.rollout.removal import PROBES, removal
    from gpustack.rollout.reset import PLAYBOOK, WHOSE, ensure_unchanged, refuse_removal, reset

    with locked_run(hosts, "reset", places, report) as run:
        now = removal(gather(hosts, WHOSE, report=run.record), names, foreign=foreign)
        ensure_unchanged(before, now)
        refuse_removal(now, foreign=foreign)
        outcome = reset(
            before,
            names,
            gather=lambda: gather(hosts, PROBES, report=run.record),
            play=lambda wanted, more: run.play(PLAYBOOK, wanted, before.snapshot, more),
            report=run.record,
            packages=packages,
            foreign=foreign,
            cancelled=run.stop_reason,
        )
    run.keep_snapshot(outcome.after.snapshot)
    return outcome, run.folder
