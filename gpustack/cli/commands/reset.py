"""The command `gpustack reset`, which uninstalls. It shows what it removes, confirms, removes and verifies."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import LockSession
from gpustack.cli.root import OPERATE, ROOT
from gpustack.cli.session import choose_hosts
from gpustack.errors import RolloutError
from gpustack.report.renderings import RESET

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.rollout.removal import Removal
    from gpustack.rollout.reset import ResetOutcome
    from gpustack.rollout.run import Run


@declare_command(
    ROOT,
    "gpustack reset -i mycluster                    # every host",
    "gpustack reset -i mycluster --limit gpu2       # one worker",
    "gpustack reset -i mycluster --packages --yes",
    result=RESET,
    heading=OPERATE,
    short="Uninstall: remove what gpustack put on the hosts.",
)
def reset(
    *,
    limit: options.LimitOption = None,
    packages: Annotated[
        bool, typer.Option("--packages", help="Remove the packages that gpustack installed as well.")
    ] = False,
    foreign: Annotated[
        bool, typer.Option("--foreign", help="Reset hosts of another cluster than that of the inventory as well.")
    ] = False,
    session: LockSession,
) -> "ResetOutcome":
    """Uninstall: show what will be removed from the hosts, confirm, remove, verify.

    A reset of all hosts removes the cluster."""
    hosts = session.open_for_change()
    from gpustack.cli.questions import agree_on_places, confirm
    from gpustack.rollout.next_command import repeat_command
    from gpustack.rollout.removal import PROBES, judge_removal
    from gpustack.rollout.reset import build_idle_outcome, refuse_removal

    names = choose_hosts(hosts, limit)
    before = judge_removal(session.gather(hosts, PROBES, names), names, packages=packages, foreign=foreign)
    if not before.due_hosts and (foreign or not before.foreign_hosts):
        return build_idle_outcome(before)
    session.show_preview(before)
    refuse_removal(before, foreign=foreign)
    if not session.yes and not confirm("Remove all of this?"):
        reason = "The removal was declined."
        flags = ("--packages" if packages else "", "--foreign" if foreign else "", "-K" if session.become else "")
        hint = repeat_command("reset", hosts, *flags, **{"limit": limit, "without-lock": session.without_lock})
        raise RolloutError("reset-declined", "Nothing was removed.", reason, hint)
    places = agree_on_places(before.snapshot, ["reset"], names, session.without_lock)
    with session.open_run(hosts, "reset", places) as run:
        outcome = run_reset(run, hosts, names, before, packages=packages, foreign=foreign)
    run.keep_snapshot(outcome.after.snapshot)
    return outcome


def run_reset(
    run: "Run", hosts: "Inventory", names: Sequence[str], before: "Removal", *, packages: bool, foreign: bool
) -> "ResetOutcome":
    """Run the playbook and verify. Raise RolloutError where hosts changed since they were shown."""
    from gpustack.ask.gather import gather
    from gpustack.rollout.removal import PROBES, judge_removal
    from gpustack.rollout.reset import IDENTITY_PROBES, PLAYBOOK, ensure_unchanged, refuse_removal, reset

    current = judge_removal(gather(hosts, IDENTITY_PROBES, report=run.record), names, foreign=foreign)
    ensure_unchanged(before, current)
    refuse_removal(current, foreign=foreign)
    return reset(
        before,
        names,
        gather=lambda: gather(hosts, PROBES, report=run.record),
        play=lambda due_hosts, host_variables: run.play(PLAYBOOK, due_hosts, before.snapshot, host_variables),
        report=run.record,
        packages=packages,
        foreign=foreign,
        find_stop_reason=run.find_stop_reason,
    )
