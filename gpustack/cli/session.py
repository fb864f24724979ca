"""The inventory, the snapshot, the plan and the progress reporter of a command."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpustack.cli import error_handler
from gpustack.command import Command, Prose
from gpustack.errors import RolloutError, UsageError
from gpustack.events import Reporter, ignore_event

if TYPE_CHECKING:
    from gpustack.ask.probe import Probe
    from gpustack.ask.snapshot import Snapshot
    from gpustack.config.inventory import Inventory
    from gpustack.steps.step import Step


def resolve_inventory_path(option: Path | None) -> Path | None:
    """Return the path of -i. The word `lab`, in -i or GPUSTACK_INVENTORY, stands for the inventory of the running lab,
    unless a file has that name. A folder has to be written `./lab`, because the checkout has one. Raise
    UsageError for it where the lab distribution is not installed."""
    from gpustack.config.ansible.inventory_listing import INVENTORY_VARIABLE

    if str(option or os.environ.get(INVENTORY_VARIABLE, "")) == "lab" and not Path("lab").is_file():
        from gpustack.cli.lab_distribution import load_entry_point

        path: Path = load_entry_point("inventory")()
        return path
    return option


def open_inventory(option: Path | None, *, ask_password: bool, quiet: bool, asks_hosts: bool = True) -> "Inventory":
    """Load the inventory, and print its name unless `quiet` is set. Without `asks_hosts` only its spec is used: this
    host is not named then where no inventory is."""
    from gpustack.config.ansible.cfg import explain_disregard
    from gpustack.config.ansible.inventory_listing import select_inventory, start_listing

    source = select_inventory(resolve_inventory_path(option))
    listing = start_listing(source) if source else None
    password = read_password() if ask_password else None
    # Ansible lists the inventory in its own process. The imports that follow overlap with it and save 0.2 to 0.5 s.
    import gpustack.report.render
    from gpustack.config.inventory import load_inventory

    if asks_hosts:
        import gpustack.ask.gather
        import gpustack.steps  # noqa: F401

    error_handler.known_secrets.extend(filter(None, (password,)))
    inventory = load_inventory(source, become_password=password, listing=listing)
    error_handler.known_secrets.extend(inventory.secrets)
    if not quiet and (asks_hosts or inventory.source):
        sys.stderr.write(
            "".join(f"{line}\n" for line in (describe_source(inventory, option), explain_disregard()) if line)
        )
    return inventory


def read_password() -> str:
    """Prompt for the sudo password. Raise UsageError without a terminal, before a password is read that would be
    echoed."""
    import getpass
    import warnings

    try:
        with warnings.catch_warnings():
            # The warning of getpass means that it would read standard input instead, with the echo on.
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass("sudo password: ")
    except (getpass.GetPassWarning, EOFError) as error:
        message = "The sudo password was not typed; nothing was read or changed."
        reason = "-K asks for it on a terminal, and never reads it from the standard input."
        hint = Prose("ansible_become_password in a vaulted file of the inventory, instead of -K")
        raise UsageError("password-not-typed", message, reason, hint) from error


def describe_source(inventory: "Inventory", option: Path | None) -> str:
    """Describe the hosts, and the source of the inventory where no option names it."""
    from gpustack.config.ansible.inventory_listing import INVENTORY_VARIABLE, find_inventory_origin

    if inventory.source is None:
        return f"{inventory.summary}: no inventory is named by -i, {INVENTORY_VARIABLE} or an ansible.cfg"
    source = find_inventory_origin(option)
    return f"{inventory.summary}, named by {source}" if source else inventory.summary


def confirm_this_host(name: str, *, yes: bool) -> None:
    """Prompt for the name of this host. Otherwise an unset variable in a script would change the host of the script."""
    from gpustack.config.ansible.inventory_listing import INVENTORY_VARIABLE

    reason = (
        f"No inventory is named by -i, {INVENTORY_VARIABLE} or an ansible.cfg, so the host would be this one: {name}."
    )
    if yes or not sys.stdin.isatty():
        hint = Prose("add -i INVENTORY, or --this-host to change this host")
        raise UsageError("this-host", "No inventory is named; nothing was changed.", reason, hint)
    sys.stderr.write(f"\n{reason}\nType its name to go on: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != name:
        message = "The name of this host was not typed; nothing was changed."
        raise RolloutError("this-host", message, reason, Prose("add -i INVENTORY"))


def build_reporter(*, quiet: bool) -> Reporter:
    if quiet:
        return ignore_event
    from gpustack.report.progress import build_progress_reporter

    # The secrets of the inventory are added before the first host is asked.
    return build_progress_reporter(sys.stderr, error_handler.known_secrets)


def split_words(texts: Sequence[str] | None) -> list[str]:
    """Split comma-separated texts into words. `help.refuse_empty` has refused a text without a word."""
    return [word for text in texts or () for word in text.split(",") if word]


def choose_steps(step_names: Sequence[str] | None) -> tuple["Step", ...]:
    """Choose the steps of --only, and all steps without it. Raise UsageError for an unknown step."""
    from gpustack.config.complaint import describe_choice
    from gpustack.steps import STEPS

    chosen_names, known_names = split_words(step_names), [step.id for step in STEPS]
    if unknown_names := [word for word in chosen_names if word not in known_names]:
        reason = describe_choice(unknown_names, known_names, "Steps")
        raise UsageError(
            "unknown-step", f"There is no step {', '.join(unknown_names)}.", reason, Command("gpustack", "explain")
        )
    return tuple(step for step in STEPS if not chosen_names or step.id in chosen_names)


def choose_hosts(inventory: "Inventory", limit: Sequence[str] | None) -> tuple[str, ...]:
    """Choose the hosts of --limit, and none without it, which means all. Raise UsageError for an unknown host."""
    from gpustack.config.complaint import describe_choice

    chosen_names, known_names = split_words(limit), [host.name for host in inventory.hosts]
    if unknown_names := [word for word in chosen_names if word not in known_names]:
        reason = describe_choice(unknown_names, known_names, "Hosts")
        raise UsageError("unknown-host", f"The inventory has no host {', '.join(unknown_names)}.", reason)
    return tuple(chosen_names)


def gather_all(
    inventory: "Inventory", report: Reporter, probes: "Sequence[Probe[Any]] | None" = None, names: Sequence[str] = ()
) -> "Snapshot":
    """Run these probes, or those of the steps that the inventory asks for, on the hosts. Raise UnreachableError where
    no host of `names` was reached."""
    from gpustack.ask.gather import gather, require_reach
    from gpustack.steps import STEPS
    from gpustack.steps.step import select_probes

    snapshot = gather(inventory, select_probes(STEPS, inventory) if probes is None else probes, report=report)
    require_reach(snapshot, names)
    return snapshot
