"""The commands `gpustack plan`, `gpustack install` and `gpustack verify`."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack.cli import options, session
from gpustack.command import Command
from gpustack.errors import RolloutError, UsageError
from gpustack.exit_status import ExitStatus
from gpustack.report.renderings import INSTALL, PLAN, VERIFICATION

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.events import Reporter
    from gpustack.rollout.lease import Places
    from gpustack.rollout.plan import Outcome, Plan
    from gpustack.steps.step import Step


def plan(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    step_names: options.OnlyOption = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Run the playbooks in check mode, and show the differences in files.")
    ] = False,
    recording: options.FromOption = None,
    output: Annotated[str, PLAN] = "human",
    become: options.BecomeOption = False,
    verbose: options.VerboseOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Show what differs from the spec, per host. The command is read-only."""
    if diff and recording:
        reason = "Differences in files are shown by the playbooks, and they need the hosts."
        raise UsageError(
            "diff-of-recording", "--diff does not go with --from.", reason, Command("gpustack", "plan", "--diff")
        )
    report = session.build_reporter(quiet=quiet)
    result = session.make_plan(inventory, recording, limit, step_names, report, ask_password=become, quiet=quiet)
    from gpustack.report.render import show_result

    show_result(result, output, verbose=verbose)
    if diff and result.drifted_states:
        from gpustack.report.format import build_cleaner
        from gpustack.rollout.preview import preview

        sys.stdout.write(build_cleaner(result.inventory)(preview(result, session.choose_steps(step_names), report)))
    raise typer.Exit(result.exit_status)


def verify(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    step_names: options.OnlyOption = None,
    recording: options.FromOption = None,
    output: Annotated[str, VERIFICATION] = "human",
    become: options.BecomeOption = False,
    verbose: options.VerboseOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Check every host against the spec. The command is read-only."""
    report = session.build_reporter(quiet=quiet)
    plan = session.make_plan(inventory, recording, limit, step_names, report, ask_password=become, quiet=quiet)
    from gpustack.rollout.plan import build_verification

    session.finish_command(build_verification(plan), output, verbose=verbose)


def install(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    step_names: options.OnlyOption = None,
    force: Annotated[bool, typer.Option("--force", help="Run every step, even if nothing differs.")] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Run every step, and record files of an earlier release as gpustack's.")
    ] = False,
    yes: options.YesOption = False,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    output: Annotated[str, INSTALL] = "human",
    become: options.BecomeOption = False,
    verbose: options.VerboseOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Install or repair the cluster: show the plan, confirm, apply only what differs, verify."""
    report = session.build_reporter(quiet=quiet)
    hosts = session.open_for_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    from gpustack.cli.questions import agree_on_places, confirm
    from gpustack.probes.host.unrecorded_paths import UNRECORDED
    from gpustack.report.format import build_cleaner
    from gpustack.report.render import show_result
    from gpustack.rollout.addresses import refuse_unconfirmed
    from gpustack.rollout.adoption import describe_adoptable, list_adoptable
    from gpustack.rollout.next_command import repeat_command
    from gpustack.rollout.plan import build_idle_outcome, refuse_unplayable
    from gpustack.rollout.plan import plan as make_plan
    from gpustack.steps import PROBES

    steps, names = session.choose_steps(step_names), session.choose_hosts(hosts, limit)
    force = force or adopt
    probes = (*PROBES, UNRECORDED) if adopt else PROBES
    before = make_plan(session.gather_all(hosts, report, probes), steps, names)
    adoptable = list_adoptable(before.snapshot, names) if adopt else {}
    if before.converged and not force:
        session.finish_command(build_idle_outcome(before), output, verbose=verbose)
    if output == "human":
        show_result(before, output, verbose=verbose)
        if adopt:
            sys.stdout.write(build_cleaner(hosts)(describe_adoptable(adoptable)))
    refuse_unconfirmed(before.snapshot)
    if not force:
        refuse_unplayable(before)
    if not yes and not confirm("Apply this plan?"):
        flags = ("--adopt" if adopt else "--force" if force else "", "-K" if become else "")
        hint = repeat_command(
            "install", hosts, *flags, **{"limit": limit, "only": step_names, "without-lock": without_lock}
        )
        raise RolloutError("declined", "Nothing was changed.", "The plan was declined.", hint)
    places = agree_on_places(before.snapshot, ["install"], names, without_lock)
    outcome, folder = roll_out(hosts, steps, names, before, report, places, adoptable, force=force)
    show_result(outcome, output, verbose=verbose, evidence=str(folder))
    status = outcome.exit_status
    if status not in (ExitStatus.OK, ExitStatus.INTERRUPTED):
        from gpustack.cli.failure_report import report_failure

        failed_hosts = [failure.host for playbook_run in outcome.playbook_runs for failure in playbook_run.failures]
        sys.stderr.write(report_failure(hosts, folder, report, names, failed_hosts))
    raise typer.Exit(status)


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
    """Take the locks, run the playbooks, verify, and return the outcome and the folder of the evidence."""
    from gpustack.ask.gather import gather
    from gpustack.rollout.adoption import build_adoption_variables
    from gpustack.rollout.overlay import build_machine_ids
    from gpustack.rollout.rollout import Rollout
    from gpustack.rollout.run import open_locked_run

    host_variables: dict[str, dict[str, Any]] = {**build_machine_ids(before.snapshot)}
    for name, variables in build_adoption_variables(adoptable).items():
        host_variables[name] = {**host_variables.get(name, {}), **variables}
    with open_locked_run(hosts, "install", places, report) as run:
        rollout = Rollout(
            inventory=hosts,
            steps=steps,
            gather=lambda probes, asked_hosts: gather(hosts, probes, hosts=asked_hosts, report=run.record),
            play=lambda step, played_hosts, snapshot: run.play(step.id, played_hosts, snapshot, host_variables),
            report=run.record,
            limit=names,
            force=force,
            find_stop_reason=run.find_stop_reason,
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
