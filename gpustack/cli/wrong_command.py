"""Words that are no command: the command that was meant, and options that stand before their command."""

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

OTHER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("uninstall", "deinstall", "remove", "delete", "destroy", "teardown"), "reset"),
    **dict.fromkeys(("apply", "deploy", "setup"), "install"),
    **dict.fromkeys(("diff", "dry-run"), "plan"),
    "check": "verify",
    **dict.fromkeys(("diagnose", "troubleshoot", "debug"), "doctor"),
    **dict.fromkeys(("upgrade", "update"), "explain upgrade-needed"),
    **dict.fromkeys(("dashboard", "grafana"), "access grafana"),
    **dict.fromkeys(("man", "docs"), "explain"),
    "fix": "doctor --fix",
    "undo": "doctor --undo",
    "top": "gpu top",
    "validate": "config validate",
    "completion": "--show-completion",
    "get": "status",
    "describe": "explain",
}
"""Words that people type for a command of another name."""
NEGATION = re.compile(r"(?:un|de|dis|non?)-?")


def suggest_command(word: str, names: Sequence[str], other_names: Mapping[str, str]) -> str:
    """Suggest the command of another name, or the one whose spelling is nearest, and nothing that would do the opposite
    of the word. Return an empty text without one."""
    from gpustack.config.complaint import find_nearest

    nearest = find_nearest(word, [*names, *other_names])
    command, negation = other_names.get(nearest, nearest), NEGATION.match(word)
    return "" if negation and find_nearest(word[negation.end() :], [command]) else command


def move_options(command: Any, args: Sequence[str]) -> str:
    """Move options that stand before the words of a command behind them. Return the line, and an empty text where no
    word is a command. A word behind an option may be its value, and is a command where no other word is one."""
    rest, path = list(args), []
    while names := getattr(command, "commands", None):
        positions = [number for number, word in enumerate(rest) if word in names]
        if not positions:
            break
        values = {number for number, (word, _) in enumerate(pairwise(rest), start=1) if word.startswith("-")}
        position = next((number for number in positions if number not in values), positions[0])
        path.append(rest.pop(position))
        command = names[path[-1]]
    return shlex.join([*path, *rest]) if path else ""
