"""The command `gpustack reset`, which uninstalls. It shows what it removes, confirms, removes and verifies."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.errors import RolloutError
from gpustack.report.renderings import RESET

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
        bool, typer.Option("--packages", help="Remove the packages that gpustack installed as well.")
    ] = False,
    foreign: Annotated[
        bool, typer.Option("--foreign", help="Reset hosts of another cluster than that of the inventory as well.")
    ] = False,
    yes: options.YesOption = False,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    output: Annotated[str, RESET] = "human",
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Uninstall: show what will be removed from the hosts, confirm, remove, verify.

    A reset of all hosts removes the cluster."""
    report = session.build_reporter(quiet=quiet)
    hosts = session.open_for_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    from gpustack.cli.questions import agree_on_places, confirm
    from gpustack.report.render import show_result
    from gpustack.rollout.next_command import repeat_command
    from gpustack.rollout.removal import PROBES, judge_removal
    from gpustack.rollout.reset import build_idle_outcome, refuse_removal

    names = session.choose_hosts(hosts, limit)
    before = judge_removal(session.gather_all(hosts, report, PROBES, names), names, packages=packages, foreign=foreign)
    if not before.due_hosts and (foreign or not before.foreign_hosts):
        session.finish_command(build_idle_outcome(before), output)
    if output == "human":
        show_result(before, output)
    refuse_removal(before, foreign=foreign)
    if not yes and not confirm("Remove all of this?"):
        reason = "The removal was declined."
        flags = ("--packages" if packages else "", "--foreign" if foreign else "", "-K" if become else "")
        hint = repeat_command("reset", hosts, *flags, **{"limit": limit, "without-lock": without_lock})
        raise RolloutError("reset-declined", "Nothing was removed.", reason, hint)
    places = agree_on_places(before.snapshot, ["reset"], names, without_lock)
    outcome, folder = run_reset(hosts, names, before, report, places, packages=packages, foreign=foreign)
    session.finish_command(outcome, output, evidence=str(folder))


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
    """Take the locks, run the playbook, verify, and return the outcome and the folder of the evidence. Raise
    RolloutError where hosts changed since they were shown."""
    from gpustack.ask.gather import gather
    from gpustack.rollout.removal import PROBES, judge_removal
    from gpustack.rollout.reset import IDENTITY_PROBES, PLAYBOOK, ensure_unchanged, refuse_removal, reset
    from gpustack.rollout.run import open_locked_run

    with open_locked_run(hosts, "reset", places, report) as run:
        current = judge_removal(gather(hosts, IDENTITY_PROBES, report=run.record), names, foreign=foreign)
        ensure_unchanged(before, current)
        refuse_removal(current, foreign=foreign)
        outcome = reset(
            before,
            names,
            gather=lambda: gather(hosts, PROBES, report=run.record),
            play=lambda due_hosts, host_variables: run.play(PLAYBOOK, due_hosts, before.snapshot, host_variables),
            report=run.record,
            packages=packages,
            foreign=foreign,
            find_stop_reason=run.find_stop_reason,
        )
    run.keep_snapshot(outcome.after.snapshot)
    return outcome, run.folder
