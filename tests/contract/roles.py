"""Roles are read with their tasks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from gpustack.config.resources import locate_playbooks

FOLDERS = (locate_playbooks() / "roles", locate_playbooks() / "remedy" / "roles")
ROLES = sorted(path for folder in FOLDERS for path in folder.iterdir() if path.is_dir())


def list_tasks(nodes: Any) -> Iterator[dict[str, Any]]:
    """List every task of a file, those inside blocks too."""
    for task in nodes or ():
        yield task
        for part in ("block", "rescue", "always"):
            yield from list_tasks(task.get(part))


def list_role_tasks(role: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """List the tasks of a role's files, and those that it includes from beside the roles."""
    for path in sorted([*role.glob("tasks/**/*.yml"), *role.glob("handlers/**/*.yml")]):
        for task in list_tasks(yaml.safe_load(path.read_text())):
            yield f"{path.relative_to(role)}: {task.get('name', '?')}", task
            included_file = str(task.get("ansible.builtin.include_tasks", ""))
            if included_file.startswith("../"):
                for included_task in list_tasks(yaml.safe_load((path.parent / included_file).read_text())):
                    yield f"{path.relative_to(role)}: {included_task.get('name', '?')}", included_task
