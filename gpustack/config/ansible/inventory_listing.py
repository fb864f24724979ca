"""What ansible-inventory lists, read in a process of its own.

It takes half a second, most of a run that finds nothing to do: a command begins it first, and loads the rest of the
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
from gpustack.config.ansible.cfg import ansible_cfg, for_ansible
from gpustack.config.ansible.inventory_files import refuse_files
from gpustack.errors import ConfigError, UsageError

READ_LIMIT = 60
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
NAMED = "GPUSTACK_INVENTORY"
"""The variable that names an inventory where no option does."""


@dataclass(frozen=True)
class Listing:
    """A reading that has begun. `command` is what a person would type."""

    source: Path
    command: tuple[str, ...]
    process: "subprocess.Popen[str]"


def chosen(option: Path | None, env: Mapping[str, str] = os.environ) -> Path | None:
    """The inventory in force, or None for the local host. Raises ConfigError when the named one does not exist, and
    UsageError for a variable of blanks."""
    if not option and env.get(NAMED, "").isspace():
        why = "It names no inventory, and is not unset either."
        raise UsageError(
            "inventory-empty", f"{NAMED} is blank; nothing was asked or changed.", why, Command("unset", NAMED)
        )
    name = str(option) if option else env.get(NAMED, "") or ansible_cfg(env).inventory
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


def named_by(option: Path | None, env: Mapping[str, str] = os.environ) -> str:
    """Who named the inventory in force, where that was no option: a variable or a file; empty where nobody did."""
    if option:
        return ""
    if env.get(NAMED):
        return NAMED
    cfg = ansible_cfg(env)
    return "" if not cfg.inventory else "ANSIBLE_INVENTORY" if env.get("ANSIBLE_INVENTORY") else str(cfg.path)


def ignored() -> str:
    """Of an inventory that is a folder Ansible would read `values/` and `dashboards/` as hosts and groups: they are for
    Helm and Grafana."""
    return ",".join(filter(None, (ansible_cfg().ignored, "^values$", "^dashboards$")))


def begin(source: Path) -> Listing:
    """Raises ConfigError where there is no Ansible, and for files that it should not read."""
    refuse_files(source)
    program = Path(sys.executable).with_name("ansible-inventory")
    command = (str(program) if program.exists() else "ansible-inventory", "-i", str(source), "--list")
    env = os.environ | {
        **for_ansible(),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
        "ANSIBLE_DUPLICATE_YAML_DICT_KEY": "error",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_INVENTORY_IGNORE_REGEX": ignored(),
    }
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    except FileNotFoundError as error:
        raise ConfigError(
            "ansible-missing", "There is no ansible-inventory.", str(error), Command("pip", "install", "ansible-core")
        ) from error
    return Listing(source, command, process)


def finished(listing: Listing) -> dict[str, Any]:
    """The groups, and below `_meta` the variables of hosts. Raises ConfigError with Ansible's words."""
    from gpustack.config.complaint import refuse
    from gpustack.config.yaml_files import broken

    typed = Command(*listing.command)
    try:
        out, err = listing.process.communicate(timeout=READ_LIMIT)
    except subprocess.TimeoutExpired as error:
        listing.process.kill()
        listing.process.communicate()
        why = f"ansible-inventory did not read {listing.source} in {READ_LIMIT} s."
        raise ConfigError("inventory-slow", why, "", typed) from error
    if listing.process.returncode != 0:
        refuse(broken(listing.source))
        raise ConfigError(
            "inventory-unreadable", f"Ansible cannot read {listing.source}.", pick_errors(listing.source, err), typed
        )
    listed: dict[str, Any] = json.loads(out)
    if SURROGATE.search(out):
        refuse_surrogates(listing, listed)
    return listed


def refuse_surrogates(listing: Listing, listed: dict[str, Any]) -> None:
    """Raise ConfigError for a text that is not Unicode: it can be written nowhere. Half a character is one."""
    try:
        json.dumps(listed, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        why = f"U+{ord(str(error.object)[error.start]):04X} is not a character."
        message = f"{listing.source} has a text that is not Unicode."
        raise ConfigError("config-file-limit", message, why, Command(*listing.command)) from None


def pick_errors(source: Path, text: str) -> str:
    """Ansible tries every plugin and tells each one's failure: those of the plugin for such a file, and the errors."""
    plugin = "'yaml'" if source.suffix in (".yml", ".yaml", ".json") or source.is_dir() else "'ini'"
    kept = [
        line
        for line in text.splitlines()
        if line.startswith("[ERROR]") or (line.startswith("[WARNING]") and plugin in line)
    ]
    return "\n".join(kept) or text.strip()
