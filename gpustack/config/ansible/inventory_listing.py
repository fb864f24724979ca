"""The output of ansible-inventory, read in a process of its own.

It takes half a second, most of a run that finds nothing to do: a command starts it first, and loads the rest of the
program meanwhile. So this module imports nothing heavy.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpustack.command import Command
from gpustack.config.ansible.cfg import build_environment, read_ansible_cfg
from gpustack.config.ansible.inventory_files import refuse_files
from gpustack.errors import ConfigError, UsageError, describe_os_error

READ_LIMIT = 60
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
INVENTORY_VARIABLE = "GPUSTACK_INVENTORY"
"""The variable that names an inventory where no option does."""


@dataclass(frozen=True)
class Listing:
    """Hold a listing that has begun. `command` is what a person would type."""

    source: Path
    command: tuple[str, ...]
    process: "subprocess.Popen[str]"


def select_inventory(option: Path | None, env: Mapping[str, str] = os.environ) -> Path | None:
    """Select the inventory in force, or None for the local host. Raise ConfigError when the named one does not exist,
    and UsageError for a variable of blanks."""
    if not option and env.get(INVENTORY_VARIABLE, "").isspace():
        reason = "It names no inventory, and is not unset either."
        message = f"{INVENTORY_VARIABLE} is blank; nothing was asked or changed."
        raise UsageError("inventory-empty", message, reason, Command("unset", INVENTORY_VARIABLE))
    name = str(option) if option else env.get(INVENTORY_VARIABLE, "") or read_ansible_cfg(env).inventory
    if not name:
        return None
    path = Path(name).expanduser()
    if not path.exists():
        raise ConfigError(
            "inventory-missing",
            f"The inventory {name} does not exist.",
            "",
            Command("gpustack", "init", "DIR", note="writes an example"),
        )
    return path


def find_inventory_origin(option: Path | None, env: Mapping[str, str] = os.environ) -> str:
    """Find the variable or file that names the inventory in force, where that was no option. Return an empty string
    where none does."""
    if option:
        return ""
    if env.get(INVENTORY_VARIABLE):
        return INVENTORY_VARIABLE
    cfg = read_ansible_cfg(env)
    return "" if not cfg.inventory else "ANSIBLE_INVENTORY" if env.get("ANSIBLE_INVENTORY") else str(cfg.path)


def build_ignore_pattern() -> str:
    """Build the pattern of files that Ansible must not read in the folder of an inventory: `values/` is for Helm,
    `dashboards/` for Grafana."""
    return ",".join(filter(None, (read_ansible_cfg().ignore_patterns, "^values$", "^dashboards$")))


def start_listing(source: Path) -> Listing:
    """Start ansible-inventory. Raise ConfigError where there is no Ansible, and for files that it should not read."""
    refuse_files(source)
    program = Path(sys.executable).with_name("ansible-inventory")
    command = (str(program) if program.exists() else "ansible-inventory", "-i", str(source), "--list")
    env = os.environ | {
        **build_environment(),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
        "ANSIBLE_DUPLICATE_YAML_DICT_KEY": "error",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_INVENTORY_IGNORE_REGEX": build_ignore_pattern(),
    }
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=env)
    except FileNotFoundError as error:
        raise ConfigError(
            "ansible-missing",
            "There is no ansible-inventory.",
            describe_os_error(error),
            Command("pip", "install", "ansible-core"),
        ) from error
    return Listing(source, command, process)


def finish_listing(listing: Listing) -> dict[str, Any]:
    """Return the groups, and below `_meta` the variables of hosts. Raise ConfigError with Ansible's words."""
    from gpustack.config.ansible.shapes import find_misshapen_groups
    from gpustack.config.complaint import refuse
    from gpustack.config.yaml_files import find_broken_files

    command = Command(*listing.command)
    try:
        stdout, stderr = listing.process.communicate(timeout=READ_LIMIT)
    except subprocess.TimeoutExpired as error:
        listing.process.kill()
        listing.process.communicate()
        reason = f"ansible-inventory did not read {listing.source} in {READ_LIMIT} s."
        raise ConfigError("inventory-slow", reason, "", command) from error
    if listing.process.returncode != 0:
        refuse([*find_broken_files(listing.source), *find_misshapen_groups(listing.source)])
        message, reason = f"Ansible cannot read {listing.source}.", pick_errors(listing.source, stderr)
        raise ConfigError("inventory-unreadable", message, reason, command)
    if "unexpected" in stderr:  # a key of a group, which Ansible skips with a warning
        refuse(find_misshapen_groups(listing.source))
    document: dict[str, Any] = json.loads(stdout)
    if SURROGATE.search(stdout):
        refuse_surrogates(listing, document)
    return document


def refuse_surrogates(listing: Listing, document: dict[str, Any]) -> None:
    """Raise ConfigError for a text that is not Unicode: it can be written nowhere. Half a character is one."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        reason = f"U+{ord(str(error.object)[error.start]):04X} is not a character."
        message = f"{listing.source} has a text that is not Unicode."
        raise ConfigError("config-file-limit", message, reason, Command(*listing.command)) from None


def pick_errors(source: Path, text: str) -> str:
    """Pick the errors of the plugin that reads such a file. Ansible tries every plugin and prints the failure of
    each."""
    plugin = "'yaml'" if source.suffix in (".yml", ".yaml", ".json") or source.is_dir() else "'ini'"
    errors = [
        line
        for line in text.splitlines()
        if line.startswith("[ERROR]") or (line.startswith("[WARNING]") and plugin in line)
    ]
    return "\n".join(errors) or text.strip()
