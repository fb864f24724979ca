"""`reset`: the way back. Shows what would go from each host, asks, removes it, and asks the hosts again."""

import sys
import threading
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack.cli import options
from gpustack.cli.install import interruptible
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
    hosts = wiring.opened(inventory, ask_password=become, quiet=quiet)
    names = wiring.chosen_hosts(hosts, limit)
    before = removal(wiring.asked(hosts, report, PROBES, names), names, packages=packages)
    if not before.due:
        show.nothing_to_remove(before, output.value)
        raise typer.Exit(8 if before.unreached else 0)
    if output is Output.HUMAN:
        show.removal(before)
    refuse(before, foreign=foreign)
    if not yes and not agreed():
        why = "The removal was not agreed to."
        raise RolloutError("reset-not-agreed", "Nothing was removed.", why, "gpustack reset --yes")
    outcome, folder = removed(hosts, names, before, report, packages=packages)
    show.reset(outcome, output.value, evidence=str(folder))
    raise typer.Exit(show.reset_code(outcome))


def refuse(before: "Removal", *, foreign: bool) -> None:
    """What must not be removed without a further word, all of it at once. Raises RolloutError."""
    if before.distributions:
        why = "\n".join(f"{host}: {name}" for host, name in before.distributions)
        message = "Another kind of Kubernetes is on a host; nothing was removed."
        raise RolloutError("reset-distribution", message, why, "gpustack explain reset-distribution")
    if before.foreign and not foreign:
        why = "\n".join(f"{one.host}: {one.foreign}" for one in before.foreign)
        names = ",".join(one.host for one in before.foreign)
        message = "A host is in a cluster that is not this inventory's; nothing was removed."
        raise RolloutError("reset-foreign", message, why, f"gpustack reset --limit {names} --foreign")
    if before.orphans:
        why = f"Without the control plane these hosts would be left without a cluster: {', '.join(before.orphans)}"
        message = "Only the control plane was named; nothing was removed."
        raise RolloutError("reset-orphans", message, why, "gpustack reset    # all of them, the workers first")


def agreed() -> bool:
    """A yes on a terminal; without one nobody can agree, and --yes is needed."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write("\nRemove all of this? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def removed(
    hosts: "Inventory", names: Sequence[str], before: "Removal", report: Any, *, packages: bool
) -> tuple["ResetOutcome", Path]:
    """Takes the lock, plays, asks again, and leaves the evidence in a folder."""
    from gpustack.ask.gather import gather
    from gpustack.ask.recording import write
    from gpustack.rollout.evidence import not_kept, open_folder, recorder
    from gpustack.rollout.lock import lock
    from gpustack.rollout.overlay import sources
    from gpustack.rollout.overlay import write as write_overlay
    from gpustack.rollout.plan import INTERRUPTED
    from gpustack.rollout.playbook import play
    from gpustack.rollout.private import private_folder
    from gpustack.rollout.removal import PROBES
    from gpustack.rollout.reset import PLAYBOOK, reset

    folder = open_folder("reset")
    record = recorder(folder, report)
    password = next((host.become_password for host in hosts.hosts if host.become_password), None)
    # A control plane that is gone for good must not keep its workers: then the first host at hand holds the lock.
    reached = [host for host in hosts.hosts if before.snapshot.reach[host.name].reached]
    stop = threading.Event()
    with interruptible(stop), private_folder() as private, lock(reached[0], "reset") as held:

        def cancelled() -> str:
            return INTERRUPTED if stop.is_set() else held.lost

        outcome = reset(
            before,
            names,
            gather=lambda: gather(hosts, PROBES, report=record),
            play=lambda wanted, more: play(
                PLAYBOOK,
                wanted,
                sources(hosts, write_overlay(before.snapshot, folder, more)),
                private,
                record,
                become_password=password,
                cancelled=cancelled,
            ),
            report=record,
            packages=packages,
            cancelled=cancelled,
        )
    try:
        write(outcome.after.snapshot, folder / "snapshot.jsonl")
    except OSError as error:
        record(not_kept(folder, error))
    return outcome, folder
