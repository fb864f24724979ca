"""What a command works with: the inventory, the hosts' answers or a recording, the plan, the progress."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpustack.cli import error_handler
from gpustack.command import Command, Prose
from gpustack.errors import RolloutError, UnreachableError, UsageError
from gpustack.events import Reporter, silent

if TYPE_CHECKING:
    from gpustack.ask.probe import Probe
    from gpustack.ask.snapshot import Snapshot
    from gpustack.config.inventory import Inventory
    from gpustack.rollout.plan import Plan
    from gpustack.steps.step import Step


def inventory_path(option: Path | None) -> Path | None:
    """`lab`, after -i or in GPUSTACK_INVENTORY, is short for the inventory of the running lab; a file of that name
    wins."""
    from gpustack.config.ansible.inventory_listing import NAMED

    if str(option or os.environ.get(NAMED, "")) == "lab" and not Path("lab").exists():
        from gpustack.lab.inventory import inventory_path as lab_inventory

        return lab_inventory(None)
    return option


def open_inventory(option: Path | None, *, ask_password: bool, quiet: bool) -> "Inventory":
    """The inventory in force; its name is the first line of every command."""
    from gpustack.config.ansible.cfg import disregarded
    from gpustack.config.ansible.inventory_listing import begin, chosen

    source = chosen(inventory_path(option))
    listing = begin(source) if source else None
    password = read_password() if ask_password else None
    # Ansible reads it in a process of its own; what commands need next is imported meanwhile, for 0.2 to 0.5 s less.
    import gpustack.ask.gather
    import gpustack.report.render
    import gpustack.steps  # noqa: F401
    from gpustack.config.inventory import load

    error_handler.known_secrets.extend(filter(None, (password,)))
    inventory = load(source, become_password=password, started=listing)
    error_handler.known_secrets.extend(inventory.secrets)
    if not quiet:
        sys.stderr.write("".join(f"{line}\n" for line in (describe_source(inventory, option), disregarded()) if line))
    return inventory


def read_password() -> str:
    """Raises UsageError where there is no terminal, before anything is read that would be shown."""
    import getpass
    import warnings

    try:
        with warnings.catch_warnings():
            # What getpass warns of is that it reads standard input instead, with the echo on.
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass("sudo password: ")
    except (getpass.GetPassWarning, EOFError) as error:
        message = "The sudo password was not typed; nothing was read or changed."
        why = "-K asks for it on a terminal, and never reads it from the standard input."
        hint = Prose("ansible_become_password in a vaulted file of the inventory, instead of -K")
        raise UsageError("password-not-typed", message, why, hint) from error


def describe_source(inventory: "Inventory", option: Path | None) -> str:
    """The hosts, and what named them where no option does."""
    from gpustack.config.ansible.inventory_listing import NAMED, named_by

    if inventory.source is None:
        return f"{inventory.summary}: no inventory is named by -i, {NAMED} or an ansible.cfg"
    who = named_by(option)
    return f"{inventory.summary}, named by {who}" if who else inventory.summary


def open_to_change(option: Path | None, *, this_host: bool, yes: bool, ask_password: bool, quiet: bool) -> "Inventory":
    """For commands that change something: without an inventory, this host has to be confirmed. What a killed one left
    in memory is removed. Raises UsageError, and RolloutError where its name was not typed."""
    inventory = open_inventory(option, ask_password=ask_password, quiet=quiet)
    if this_host and inventory.source is not None:
        why = f"--this-host is for a host without an inventory, and there is {inventory.source}."
        raise UsageError(
            "this-host", "An inventory is named as well; nothing was changed.", why, Command("gpustack", "plan")
        )
    if inventory.source is None and not this_host:
        confirm_this_host(inventory.hosts[0].name, yes=yes)
    from gpustack.rollout.private import sweep

    sweep()
    return inventory


def confirm_this_host(name: str, *, yes: bool) -> None:
    """Has the host's name typed. A lost variable in a script would else change the host that the script runs on."""
    from gpustack.config.ansible.inventory_listing import NAMED

    why = f"No inventory is named by -i, {NAMED} or an ansible.cfg, so the host would be this one: {name}."
    if yes or not sys.stdin.isatty():
        hint = Prose("add -i INVENTORY, or --this-host to change this host")
        raise UsageError("this-host", "No inventory is named; nothing was changed.", why, hint)
    sys.stderr.write(f"\n{why}\nType its name to go on: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != name:
        message = "The name of this host was not typed; nothing was changed."
        raise RolloutError("this-host", message, why, Prose("add -i INVENTORY"))


def progress(*, quiet: bool) -> Reporter:
    if quiet:
        return silent
    from gpustack.report.progress import progress as lines

    # Those of the inventory are known as soon as it is read, and that is before a host says a word.
    return lines(sys.stderr, error_handler.known_secrets)


def split_words(given: Sequence[str] | None) -> list[str]:
    """Raises UsageError for a text without a word: no choice means all, and all hosts are not what was meant."""
    choices = [[word for word in text.split(",") if word] for text in given or ()]
    if not all(choices):
        why = "Probably an unset variable in a script."
        raise UsageError("choice-empty", "An option or argument that limits the run is empty.", why)
    return [word for choice in choices for word in choice]


def choose_steps(only: Sequence[str] | None) -> tuple["Step", ...]:
    """Raises UsageError that names the steps there are."""
    from gpustack.steps import STEPS

    wanted, known = split_words(only), [step.id for step in STEPS]
    if odd := [word for word in wanted if word not in known]:
        why = f"Steps: {', '.join(known)}"
        raise UsageError("unknown-step", f"There is no step {', '.join(odd)}.", why, Command("gpustack", "explain"))
    return tuple(step for step in STEPS if not wanted or step.id in wanted)


def choose_hosts(inventory: "Inventory", limit: Sequence[str] | None) -> tuple[str, ...]:
    wanted, known = split_words(limit), [host.name for host in inventory.hosts]
    if odd := [word for word in wanted if word not in known]:
        why = f"Hosts: {', '.join(known)}"
        raise UsageError("unknown-host", f"The inventory has no host {', '.join(odd)}.", why)
    return tuple(wanted)


def gather_all(
    inventory: "Inventory",
    report: Reporter,
    probes: "Sequence[Probe[Any]] | None" = None,
    names: Sequence[str] = (),
) -> "Snapshot":
    """Runs all probes (or these). Raises UnreachableError when no host (of these names) could be reached."""
    from gpustack.ask.gather import gather
    from gpustack.steps import PROBES

    snapshot = gather(inventory, PROBES if probes is None else probes, report=report)
    wanted = [reach for name, reach in snapshot.reach.items() if not names or name in names]
    if not any(reach.reached for reach in wanted):
        reference = wanted[0].reference if len({reach.reference for reach in wanted}) == 1 else "no-host-reached"
        why = "\n".join(f"{reach.host}: {reach.why}" for reach in wanted)
        raise UnreachableError(reference, "No host could be reached; nothing was changed.", why, wanted[0].hint)
    return snapshot


def load_recording(path: Path, option: Path | None, *, quiet: bool) -> "Snapshot":
    """Raises UsageError for what is no recording, and where -i is given as well."""
    from gpustack.ask.recording import read

    if option is not None:
        why = "A recording has its own inventory."
        raise UsageError("inventory-of-recording", "--from and -i are mutually exclusive.", why, Prose("--from FILE"))
    snapshot = read(path)
    if not quiet:
        sys.stderr.write(f"recording {path} of {snapshot.taken:%Y-%m-%d %H:%M UTC}: {snapshot.inventory.summary}\n")
    return snapshot


def make_plan(
    option: Path | None,
    recording: Path | None,
    limit: Sequence[str] | None,
    only: Sequence[str] | None,
    report: Reporter,
    *,
    ask_password: bool,
    quiet: bool,
) -> "Plan":
    """The judged state of hosts, or of a recording. Raises UsageError for a step or host that is not there."""
    from gpustack.rollout.plan import plan

    steps = choose_steps(only)
    if recording:
        snapshot = load_recording(recording, option, quiet=quiet)
        hosts = choose_hosts(snapshot.inventory, limit)
    else:
        inventory = open_inventory(option, ask_password=ask_password, quiet=quiet)
        hosts = choose_hosts(inventory, limit)
        snapshot = gather_all(inventory, report)
    return plan(snapshot, steps, hosts)
