"""The commands `gpustack plan`, `gpustack install` and `gpustack verify`."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack.cli import options
from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import LockSession, Session
from gpustack.cli.root import ROOT, SETUP
from gpustack.cli.session import choose_hosts, choose_steps
from gpustack.command import Command
from gpustack.errors import RolloutError, UsageError
from gpustack.events import Event
from gpustack.exit_status import ExitStatus
from gpustack.report.renderings import INSTALL, PLAN, VERIFICATION

if TYPE_CHECKING:
    from gpustack.rollout.plan import Outcome, Plan, Verification
    from gpustack.rollout.run import Run
    from gpustack.steps.step import Step


@declare_command(
    ROOT,
    "gpustack plan -i mycluster",
    "gpustack plan -i mycluster --limit gpu1,gpu2 --diff",
    "gpustack plan --from snapshot.jsonl -o json",
    result=PLAN,
    heading=SETUP,
)
def plan(
    *,
    limit: options.LimitOption = None,
    step_names: options.OnlyOption = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Run the playbooks in check mode, and show the differences in files.")
    ] = False,
    recording: options.FromOption = None,
    verbose: options.VerboseOption = False,
    session: Session,
) -> "Plan":
    """Show what differs from the spec, per host. The command is read-only."""
    if diff and recording:
        reason = "Differences in files are shown by the playbooks, and they need the hosts."
        raise UsageError(
            "diff-of-recording",
            "--diff and --from are mutually exclusive.",
            reason,
            Command("gpustack", "plan", "--diff"),
        )
    result = session.make_plan(recording, limit, step_names)
    if not (diff and result.drifted_states):
        return result
    session.show(result)
    from gpustack.report.format import build_cleaner
    from gpustack.rollout.preview import preview

    sys.stdout.write(build_cleaner(result.inventory)(preview(result, choose_steps(step_names), session.report)))
    raise typer.Exit(result.exit_status)


@declare_command(
    ROOT,
    "gpustack verify -i mycluster",
    "gpustack verify -i mycluster -o junit > verify.xml",
    result=VERIFICATION,
    heading=SETUP,
)
def verify(
    *,
    limit: options.LimitOption = None,
    step_names: options.OnlyOption = None,
    recording: options.FromOption = None,
    verbose: options.VerboseOption = False,
    session: Session,
) -> "Verification":
    """Check every host against the spec. The command is read-only."""
    plan = session.make_plan(recording, limit, step_names)
    from gpustack.rollout.plan import build_verification

    return build_verification(plan)


@declare_command(
    ROOT,
    "gpustack install -i mycluster",
    "gpustack install -i mycluster --yes -o json        # in scripts",
    "gpustack install -i mycluster --only gpu-metrics --limit gpu1",
    result=INSTALL,
    heading=SETUP,
    short="Install or repair the cluster.",
)
def install(
    *,
    limit: options.LimitOption = None,
    step_names: options.OnlyOption = None,
    force: Annotated[bool, typer.Option("--force", help="Run every step, even if nothing differs.")] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Run every step, and record files of an earlier release as gpustack's.")
    ] = False,
    verbose: options.VerboseOption = False,
    session: LockSession,
) -> "Outcome":
    """Install or repair the cluster: show the plan, confirm, apply only what differs, verify."""
    hosts = session.open_for_change()
    from gpustack.cli.questions import agree_on_places, confirm
    from gpustack.probes.host.unrecorded_paths import UNRECORDED_PATHS
    from gpustack.report.format import build_cleaner
    from gpustack.rollout.addresses import refuse_creation, refuse_unconfirmed
    from gpustack.rollout.adoption import describe_adoptable, list_adoptable
    from gpustack.rollout.next_command import repeat_command
    from gpustack.rollout.plan import build_idle_outcome, refuse_unplayable
    from gpustack.rollout.plan import plan as make_plan
    from gpustack.steps import STEPS
    from gpustack.steps.step import select_probes

    steps, names = choose_steps(step_names), choose_hosts(hosts, limit)
    force = force or adopt
    probes = (*select_probes(STEPS, hosts), *((UNRECORDED_PATHS,) if adopt else ()))
    before = make_plan(session.gather(hosts, probes), steps, names)
    if step_names and (left_steps := list_left_steps(make_plan(before.snapshot, STEPS, names), steps)):
        session.report(Event("note", "", f"not part of --only, and differs: {', '.join(left_steps)}"))
    adoptable = list_adoptable(before.snapshot, names) if adopt else {}
    if before.converged and not force:
        return build_idle_outcome(before)
    session.show_preview(before)
    if adopt and session.output == "human":
        sys.stdout.write(build_cleaner(hosts)(describe_adoptable(adoptable)))
    refuse_unconfirmed(before.snapshot)
    refuse_creation(before.snapshot, steps)
    if not force:
        refuse_unplayable(before)
    if not session.yes and not confirm("Apply this plan?"):
        flags = ("--adopt" if adopt else "--force" if force else "", "-K" if session.become else "")
        choices = {"limit": limit, "only": step_names, "without-lock": session.without_lock}
        hint = repeat_command("install", hosts, *flags, **choices)
        raise RolloutError("declined", "Nothing was changed.", "The plan was declined.", hint)
    places = agree_on_places(before.snapshot, ["install"], names, session.without_lock)
    with session.open_run(hosts, "install", places) as run:
        outcome = roll_out(run, steps, names, before, adoptable, force=force)
    run.keep_snapshot(outcome.verification.plan.snapshot)
    status = outcome.exit_status
    if status in (ExitStatus.OK, ExitStatus.INTERRUPTED):
        return outcome
    session.show(outcome)
    from gpustack.cli.failure_report import report_failure

    failed_hosts = [failure.host for playbook_run in outcome.playbook_runs for failure in playbook_run.failures]
    sys.stderr.write(report_failure(hosts, run.folder, session.report, names, failed_hosts))
    raise typer.Exit(status)


def list_left_steps(complete: "Plan", steps: Sequence["Step"]) -> list[str]:
    """List the steps of the complete plan that differ and were not chosen."""
    ids = {step.id for step in steps}
    return list(dict.fromkeys(state.step for state in complete.drifted_states if state.step not in ids))


def roll_out(
    run: "Run",
    steps: Sequence["Step"],
    names: Sequence[str],
    before: "Plan",
    adoptable: Mapping[str, Sequence[str]],
    *,
    force: bool,
) -> "Outcome":
    """Run the playbooks and verify. After a failure, add a diagnosis of the hosts to the error."""
    from gpustack.ask.gather import gather
    from gpustack.rollout.adoption import build_adoption_variables
    from gpustack.rollout.overlay import build_machine_ids
    from gpustack.rollout.rollout import Rollout

    host_variables: dict[str, dict[str, Any]] = {**build_machine_ids(before.snapshot)}
    for name, variables in build_adoption_variables(adoptable).items():
        host_variables[name] = {**host_variables.get(name, {}), **variables}
    rollout = Rollout(
        inventory=run.hosts,
        steps=steps,
        gather=lambda probes, asked_hosts: gather(run.hosts, probes, hosts=asked_hosts, report=run.record),
        play=lambda step, played_hosts, snapshot: run.play(step.id, played_hosts, snapshot, host_variables),
        report=run.record,
        limit=names,
        force=force,
        find_stop_reason=run.find_stop_reason,
    )
    try:
        return rollout.run(before)
    except Exception as error:
        if not run.stop.is_set():
            from gpustack.cli.failure_report import report_failure

            error.add_note(report_failure(run.hosts, run.folder, run.record, names))
        raise
