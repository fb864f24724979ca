"""`reset`: the way back. Shows what would go from each host, asks, removes it, and asks the hosts again."""

import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack.cli import options
from gpustack.cli.changing import agreed, changing, repeated
from gpustack.errors import RolloutError

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.rollout.removal import Removal
    from gpustack.rollout.reset import ResetOutcome


class Output(StrEnum):
    HUMAN = "human"
    JSON = "json"


def reset(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    packages: Annotated[
        bool, typer.Option("--packages", help="Also remove the packages that gpustack installed.")
    ] = False,
    foreign: Annotated[
        bool, typer.Option("--foreign", help="Also take hosts out of a cluster that is not this inventory's.")
    ] = False,
    yes: options.YesOption = False,
    this_host: options.ThisHostOption = False,
    output: Annotated[Output, typer.Option("-o", "--output", help="How the result is written to stdout.")] = (
        Output.HUMAN
    ),
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Take away what gpustack put on the hosts, the cluster included: show it, ask, remove it, ask again."""
    from gpustack.cli import wiring
    from gpustack.report import show
    from gpustack.rollout.removal import PROBES, removal

    report = wiring.progress(quiet=quiet)
    hosts = wiring.opened_to_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    names = wiring.chosen_hosts(hosts, limit)
    before = removal(wiring.asked(hosts, report, PROBES, names), names, packages=packages)
    if not before.due:
        show.nothing_to_remove(before, output.value)
        raise typer.Exit(8 if before.unreached else 0)
    if output is Output.HUMAN:
        show.removal(before)
    refuse(before, foreign=foreign)
    if not yes and not agreed("Remove all of this?"):
        why = "The removal was not agreed to."
        flags = ("--packages" if packages else "", "--foreign" if foreign else "", "-K" if become else "")
        hint = repeated("reset", hosts, *flags, limit=limit)
        raise RolloutError("reset-not-agreed", "Nothing was removed.", why, hint)
    outcome, folder = removed(hosts, names, before, report, packages=packages, foreign=foreign)
    show.reset(outcome, output.value, evidence=str(folder))
    raise typer.Exit(show.reset_code(outcome))


def refuse(before: "Removal", *, foreign: bool) -> None:
    """What must not be removed without a further word, all of it at once. Raises RolloutError."""
    from gpustack.rollout.next import command

    hosts = before.snapshot.inventory
    if before.distributions:
        why = "\n".join(f"{host}: {name}" for host, name in before.distributions)
        message = "Another kind of Kubernetes is on a host; nothing was removed."
        raise RolloutError("reset-distribution", message, why, "gpustack explain reset-distribution")
    if before.foreign and not foreign:
        why = "\n".join(f"{one.host}: {one.foreign}" for one in before.foreign)
        names = ",".join(one.host for one in before.foreign)
        message = "A host is in a cluster that is not this inventory's; nothing was removed."
        raise RolloutError(
            "reset-foreign", message, why, f"{command('reset', hosts)} --limit {shlex.quote(names)} --foreign"
        )
    if before.orphans:
        why = f"Without the control plane these hosts would be left without a cluster: {', '.join(before.orphans)}"
        message = "Only the control plane was named; nothing was removed."
        raise RolloutError(
            "reset-orphans", message, why, f"{command('reset', hosts)}    # all of them, the workers first"
        )


def removed(
    hosts: "Inventory", names: Sequence[str], before: "Removal", report: Any, *, packages: bool, foreign: bool
) -> tuple["ResetOutcome", Path]:
    """Takes the lock, asks whether hosts are what was shown, plays, asks again, and leaves the evidence in a folder.
    Raises RolloutError where they are not."""
    from gpustack.ask.gather import gather
    from gpustack.rollout.removal import PROBES, removal
    from gpustack.rollout.reset import PLAYBOOK, WHOSE, ensure_unchanged, reset

    # A control plane that is gone for good must not keep its workers: then the first host at hand holds the lock.
    reached = [host for host in hosts.hosts if before.snapshot.reach[host.name].reached]
    with changing(hosts, "reset", reached[0], report) as change:
        now = removal(gather(hosts, WHOSE, report=change.record), names)
        ensure_unchanged(before, now)
        refuse(now, foreign=foreign)
        outcome = reset(
            before,
            names,
            gather=lambda: gather(hosts, PROBES, report=change.record),
            play=lambda wanted, more: change.play(PLAYBOOK, wanted, before.snapshot, more),
            report=change.record,
            packages=packages,
            cancelled=change.cancelled,
        )
    change.keep(outcome.after.snapshot)
    return outcome, change.folder
