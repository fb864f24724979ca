"""Judge the files of an inventory before Ansible reads them.

Ansible waits for a pipe, reads a device to the end of memory, and expands all aliases.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gpustack.config.complaint import Complaint, refuse
from gpustack.files.document import YAML_TEXT_LIMIT
from gpustack.files.read import read_file

REFERENCE = "config-file-limit"
VARIABLES = ("group_vars", "host_vars")
DOCUMENTS = (".yml", ".yaml", ".json", "")
READ_SUFFIXES = (*DOCUMENTS, ".ini", ".toml")
FILE_LIMIT = 20_000
"""Files of an inventory."""


def locate_inventory_dir(source: Path) -> Path:
    """Return the folder of the inventory, in which Ansible looks for group_vars and host_vars."""
    return source if source.is_dir() else source.parent


def refuse_files(source: Path) -> None:
    """Raise ConfigError for files that Ansible would read and should not. A file that is no YAML at all is left to
    Ansible's own error."""
    refuse([wrong for path in list_files(source) if (wrong := judge_file(path))])


def list_files(source: Path) -> Iterator[Path]:
    """Yield all but hidden files of the folder, or the file and the variables beside it. A folder behind a link counts,
    each folder once. Raise ConfigError for more than FILE_LIMIT."""
    folders = [source] if source.is_dir() else [source.parent / name for name in VARIABLES]
    if not source.is_dir():
        yield source
    visited_places, count = set[tuple[int, int]](), 0
    for folder in folders:
        for base, inner, names in os.walk(folder, followlinks=True):
            status = os.stat(base)  # noqa: PTH116 - os.walk gives a text
            place = status.st_dev, status.st_ino
            inner[:] = [] if place in visited_places else sorted(name for name in inner if not name.startswith("."))
            if place in visited_places:
                continue
            visited_places.add(place)
            count += len(names)
            if count > FILE_LIMIT:
                actual, rule = f"more than {FILE_LIMIT} files", "the directory of one inventory"
                refuse([Complaint(str(source), "", actual, rule, REFERENCE)])
            yield from (Path(base, name) for name in sorted(names) if not name.startswith("."))


def judge_file(path: Path) -> Complaint | None:
    """Return the complaint about a file. A missing one, such as the end of a link, is left to Ansible."""
    try:
        status = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return Complaint(str(path), "", "a device or a pipe", "a regular file", REFERENCE)
    if path.suffix not in READ_SUFFIXES or os.access(path, os.X_OK):
        return None
    if status.st_size > YAML_TEXT_LIMIT:
        return Complaint(str(path), "", f"{status.st_size} bytes", f"at most {YAML_TEXT_LIMIT}", REFERENCE)
    return judge_aliases(path) if path.suffix in DOCUMENTS else None


def judge_aliases(path: Path) -> Complaint | None:
    """Return the complaint about the aliases of a file, if it has some."""
    try:
        content = read_file(path, YAML_TEXT_LIMIT)
    except OSError:
        return None
    if b"&" not in content or b"*" not in content:
        return None
    from gpustack.config.yaml_files import judge_yaml_file

    wrong = judge_yaml_file(path)
    return wrong if wrong and wrong.reference == REFERENCE else None
