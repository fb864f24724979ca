"""`plan`, `install` and `verify`: what differs, make it so, and ask again."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack.cli import options, session
from gpustack.cli.error_handler import INTERRUPTED
from gpustack.command import Command
from gpustack.errors import RolloutError, UsageError

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.events import Reporter
    from gpustack.rollout.lease import Places
    from gpustack.rollout.plan import Outcome, Plan
    from gpustack.steps.step import Step


def plan(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    only: options.OnlyOption = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Also run the playbooks in check mode and show the differences in files.")
    ] = False,
    recording: options.FromOption = None,
    output: options.OutputOption = options.Output.HUMAN,
    become: options.BecomeOption = False,
    verbose: options.VerboseOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Show what differs from the spec, per host. Read-only."""
    if diff and recording:
        why = "Differences in files are shown by the playbooks, and they need the hosts."
        raise UsageError(
            "diff-of-recording", "--diff does not go with --from.", why, Command("gpustack", "plan", "--diff")
        )
    report = session.progress(quiet=quiet)
    found = session.make_plan(inventory, recording, limit, only, report, ask_password=become, quiet=quiet)
    from gpustack.report.codes import exit_code
    from gpustack.report.render import show

    show(found, output.value, verbose=verbose)
    if diff and found.drifted:
        from gpustack.report.format import cleaner
        from gpustack.rollout.preview import preview

        sys.stdout.write(cleaner(found.inventory)(preview(found, session.choose_steps(only), report)))
    raise typer.Exit(exit_code(found))


def verify(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    only: options.OnlyOption = None,
    recording: options.FromOption = None,
    output: options.OutputOption = options.Output.HUMAN,
    become: options.BecomeOption = False,
    verbose: options.VerboseOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Check every host against the spec. Read-only."""
    report = session.progress(quiet=quiet)
    found = session.make_plan(inventory, recording, limit, only, report, ask_password=become, quiet=quiet)
    from gpustack.report.codes import exit_code
    from gpustack.report.render import show
    from gpustack.rollout.plan import Verification

    verification = Verification(found, found.snapshot.took, len(found.snapshot.answers))
    show(verification, output.value, verbose=verbose)
    raise typer.Exit(exit_code(found))


def install(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    only: options.OnlyOption = None,
    force: Annotated[bool, typer.Option("--force", help="Run every step, also where nothing differs.")] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Run every step, and record files of an earlier release as gpustack's.")
    ] = False,
    yes: options.YesOption = False,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    output: options.OutputOption = options.Output.HUMAN,
    become: options.BecomeOption = False,
    verbose: options.VerboseOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Install or repair the cluster: show the plan, confirm, apply only what differs, verify."""
    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    from gpustack.cli.lock_question import agree_on_places
    from gpustack.cli.locked_run import confirm, repeat_command
    from gpustack.probes.host.unrecorded import UNRECORDED
    from gpustack.report.codes import outcome_code
    from gpustack.report.format import cleaner
    from gpustack.report.render import show, show_converged
    from gpustack.rollout.addresses import refuse_unconfirmed
    from gpustack.rollout.adoption import describe_adoptable, list_adoptable
    from gpustack.rollout.plan import plan as make_plan
    from gpustack.rollout.plan import refuse_unplayable
    from gpustack.steps import PROBES

    steps, names = session.choose_steps(only), session.choose_hosts(hosts, limit)
    force = force or adopt
    probes = (*PROBES, UNRECORDED) if adopt else PROBES
    before = make_plan(session.gather_all(hosts, report, probes), steps, names)
    adoptable = list_adoptable(before.snapshot, names) if adopt else {}
    if before.converged and not force:
        show_converged(before, output.value)
        return
    if output is options.Output.HUMAN:
        show(before, output.value, verbose=verbose)
        if adopt:
            sys.stdout.write(cleaner(hosts)(describe_adoptable(adoptable)))
    refuse_unconfirmed(before.snapshot)
    if not force:
        refuse_unplayable(before)
    if not yes and not confirm("Apply this plan?"):
        flags = ("--adopt" if adopt else "--force" if force else "", "-K" if become else "")
        hint = repeat_command("install", hosts, *flags, **{"limit": limit, "only": only, "without-lock": without_lock})
        raise RolloutError("declined", "Nothing was changed.", "The plan was declined.", hint)
    places = agree_on_places(before.snapshot, ["install"], names, without_lock)
    outcome, folder = roll_out(hosts, steps, names, before, report, places, adoptable, force=force)
    show(outcome, output.value, verbose=verbose, evidence=str(folder))
    code = outcome_code(outcome)
    if code not in (0, INTERRUPTED):
        from gpustack.cli.failure_report import report_failure

        failed = [failure.host for played in outcome.played for failure in played.failures]
        sys.stderr.write(report_failure(hosts, folder, report, names, failed))
    raise typer.Exit(code)


def roll_out(
    hosts: "Inventory",
    steps: Sequence["Step"],
    names: Sequence[str],
    before: "Plan",
    report: "Reporter",
    places: "Places",
    adoptable: Mapping[str, Sequence[str]],
    *,
    force: bool,
) -> tuple["Outcome", Path]:
    """Takes the lock, plays, verifies, and leaves the evidence in a folder."""
    from gpustack.ask.gather import gather
    from gpustack.cli.locked_run import locked_run
    from gpustack.rollout.adoption import adoption_variables
    from gpustack.rollout.overlay import machine_ids
    from gpustack.rollout.rollout import Rollout

    more: dict[str, dict[str, Any]] = {**machine_ids(before.snapshot)}
    for name, variables in adoption_variables(adoptable).items():
        more[name] = {**more.get(name, {}), **variables}
    with locked_run(hosts, "install", places, report) as run:
        rollout = Rollout(
            inventory=hosts,
            steps=steps,
            gather=lambda probes, wanted: gather(hosts, probes, hosts=wanted, report=run.record),
            play=lambda step, wanted, snapshot: run.play(step.id, wanted, snapshot, more),
            report=run.record,
            limit=names,
            force=force,
            cancelled=run.stop_reason,
        )
        try:
            outcome = rollout.run(before)
        except Exception as error:
            if not run.stop.is_set():
                from gpustack.cli.failure_report import report_failure

                error.add_note(report_failure(hosts, run.folder, report, names))
            raise
    run.keep_snapshot(outcome.verification.plan.snapshot)
    return outcome, run.folder
