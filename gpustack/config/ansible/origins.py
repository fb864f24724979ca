"""The file and the line that set a variable of a host, looked up for complaints alone.

ansible-inventory prints merged variables without their sources. LEVELS is the order in which Ansible merges those of an
inventory, the last of which wins (docs: "Understanding variable precedence", tried with ansible-core 2.19.14).
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpustack.config.ansible.inventory_files import VARIABLES, list_files, locate_inventory_dir
from gpustack.config.ansible.inventory_listing import build_ignore_pattern
from gpustack.config.yaml_files import ANSIBLE, ENDINGS, VAULT
from gpustack.files.document import YAML_TEXT_LIMIT, DocumentError
from gpustack.files.read import read_text
from gpustack.files.yaml_text import MERGE, compose_yaml

LEVELS = ("unread", "all", "group", "group_vars/all", "group_vars", "host", "host_vars")
IGNORED_ENDINGS = (".bak", ".cfg", ".md", ".orig", ".pyc", ".pyo", ".retry", ".rpm", ".rst", ".swp", ".txt", "~")
"""Endings of files that are no inventory (INVENTORY_IGNORE_EXTS)."""
SECTION = re.compile(r"\[([^:\]]+)(?::(\w+))?\]")
RANGE = re.compile(r"\\\[[^\]]*:[^\]]*\]")
"""A range in the escaped name of hosts, such as gpu[01:16]."""


@dataclass(frozen=True)
class Setting:
    """Describe where a variable is set: of a group or host, at one of LEVELS, as a node of YAML or as a text of INI."""

    path: Path
    line: int
    level: str
    owner: str
    node: Any

    def locate_key(self, key: str = "") -> str:
        """Return file and line of a dotted key below the variable, or of the last part of it that stands there."""
        return f"{self.path}:{find_line(self.node, key.split('.') if key else [], self.line)}"

    def holds(self, value: Any) -> bool:
        """Tell whether the value is probably the one that is set here."""
        text = self.node if isinstance(self.node, str) else self.node.value
        if not isinstance(text, str):
            return isinstance(value, dict | list)
        return text.strip("'\"") == str(value) or (isinstance(value, bool | None) and text != "")


@dataclass(frozen=True)
class Origins:
    """Find where variables are set. `texts` are the files of the inventory that can be read, `opaque_files` the
    encrypted ones and programs; `source` is None for the local host, whose one file they are."""

    source: Path | None
    groups: Mapping[str, Sequence[str]]
    texts: Mapping[Path, str]
    opaque_files: tuple[Path, ...] = ()
    settings: dict[str, list[Setting]] = field(default_factory=dict)

    def list_settings(self, name: str) -> list[Setting]:
        """List all that set a variable, in the order in which Ansible merges them."""
        if name not in self.settings:
            word = re.compile(rf"(?<![\w-]){re.escape(name)}[\"']?\s*[:=]")
            settings = [
                Setting(path, line, level, owner, node)
                for path, text in self.texts.items()
                if word.search(text)
                for level, owner, key, line, node in self.list_variables(path, text)
                if key == name
            ]
            self.settings[name] = sorted(settings, key=lambda setting: LEVELS.index(setting.level))
        return self.settings[name]

    def list_variables(self, path: Path, text: str) -> Iterator[tuple[str, str, str, int, Any]]:
        """Yield level, owner, name, line and value of each variable in a file."""
        level, owner = (LEVELS[3], "all") if self.source is None else self.classify_file(self.source, path)
        document = compose_document(text) if level or path.suffix in (*ENDINGS, "") else None
        if level:
            yield from ((level, owner, *pair) for pair in list_pairs(document))
        elif document is not None and document.id == "mapping":
            yield from list_inventory_variables(document)
        elif path.suffix not in ENDINGS:
            yield from list_ini_variables(text)

    def find_places(self, host: str, name: str, value: Any) -> tuple[str, ...]:
        """Find the file and line of a host's variable. Return all that are possible where it cannot be known which one
        wins."""
        settings = [setting for setting in self.list_settings(name) if self.is_setting_of(setting, host)]
        matches = [setting for setting in settings if setting.holds(value)]
        if not matches and self.opaque_files:
            return (*(setting.locate_key() for setting in settings[-1:]), *map(str, self.opaque_files))
        matches = matches or settings
        return tuple(dict.fromkeys(setting.locate_key() for setting in matches if setting.level == matches[-1].level))

    def classify_file(self, source: Path, path: Path) -> tuple[str, str]:
        """Return level and owner of a file of variables, no level for a file of the inventory itself, and no owner for
        a file that Ansible does not read by its name."""
        base = locate_inventory_dir(source)
        kind, *parts = path.relative_to(base).parts
        if kind not in VARIABLES or not parts:
            is_file_ignored = path != source and is_ignored((kind, *parts))
            return (LEVELS[0] if is_file_ignored else ""), ""
        owner = path.stem if len(parts) == 1 and path.suffix in ENDINGS else parts[0]
        folder = base / kind / owner
        # The first of NAME, NAME.yml, NAME.yaml and NAME.json is read alone.
        names = [folder, *(folder.with_name(f"{owner}{ending}") for ending in ENDINGS)]
        first = next((name for name in names if name.exists()), folder)
        is_known = owner in self.groups or owner in self.groups.get("all", ())
        if not is_read(parts, is_known=is_known):
            return LEVELS[0], ""
        if first != path and first not in path.parents:
            return LEVELS[0], owner
        return (LEVELS[3] if (kind, owner) == (VARIABLES[0], "all") else kind), owner

    def is_setting_of(self, setting: Setting, host: str) -> bool:
        if setting.level.startswith("host"):
            pattern = RANGE.sub("[0-9A-Za-z]+", re.escape(setting.owner))
            return setting.owner == host or bool(re.fullmatch(rf"{pattern}(:[0-9]+)?", host))
        return setting.level != LEVELS[0] and (setting.owner == "all" or host in self.groups.get(setting.owner, ()))


def read_origins(source: Path | None, groups: Mapping[str, Sequence[str]], local_spec: Path) -> Origins:
    """Read the files of an inventory, or the one of the local host. Ansible reports those that cannot be read, and the
    content of an encrypted one is unknown."""
    texts, opaque_files = {}, []
    for path in list_files(source or local_spec):
        try:
            text = read_text(path, YAML_TEXT_LIMIT)
        except (OSError, ValueError):
            continue
        if text.startswith((VAULT, "#!")):
            opaque_files.append(path)
        else:
            texts[path] = text
    return Origins(source, groups, texts, tuple(opaque_files))


def locate_in_file(file: str, key: str) -> str:
    """Return a file with the line of a dotted key, the file alone where it is no document."""
    try:
        node = compose_document(read_text(Path(file), YAML_TEXT_LIMIT))
    except (OSError, ValueError):
        return file
    return f"{file}:{find_line(node, key.split('.'), 1)}" if node is not None else file


def is_ignored(parts: Sequence[str]) -> bool:
    """Tell whether Ansible ignores a file in the directory of an inventory, by the names that lead to it."""
    patterns = build_ignore_pattern().split(",")
    return parts[-1].endswith(IGNORED_ENDINGS) or any(
        re.search(pattern, part) for pattern in patterns for part in parts
    )


def is_read(parts: Sequence[str], *, is_known: bool) -> bool:
    """Tell whether Ansible reads a file of variables by its path: none that is hidden or a backup, and none below a
    directory whose name has an ending. The dots of a known group or host are no ending."""
    is_hidden = any(part.startswith(".") or part.endswith("~") for part in parts)
    endings = [Path(part).suffix for part in parts]
    is_variable_file = endings[-1] in (*ENDINGS, "") or (is_known and len(parts) == 1)
    return is_variable_file and not is_hidden and not any(endings[1:-1])


@lru_cache(maxsize=4)
def compose_document(text: str) -> Any:
    """Compose the nodes of a YAML document, which have their positions. Return None for what is none."""
    try:
        return compose_yaml(text, ANSIBLE)
    except DocumentError:
        return None


def list_pairs(node: Any) -> Iterator[tuple[str, int, Any]]:
    """Yield key, line and value of a mapping, those of merge keys first: its own win."""
    pairs = node.value if node is not None and node.id == "mapping" else []
    for key, value in pairs:
        if key.tag == MERGE:
            for part in value.value if value.id == "sequence" else [value]:
                yield from list_pairs(part)
    yield from ((str(key.value), key.start_mark.line + 1, value) for key, value in pairs if key.tag != MERGE)


def find_line(node: Any, parts: Sequence[str], line: int) -> int:
    """Find the line of a key below a node. A key may have dots itself. Return that of the last part that is there."""
    if isinstance(node, str) or not parts:
        return line
    if node.id == "sequence" and parts[0].isdecimal() and int(parts[0]) < len(node.value):
        entry = node.value[int(parts[0])]
        return find_line(entry, parts[1:], entry.start_mark.line + 1)
    pairs = {key: (line, value) for key, line, value in list_pairs(node)}
    for count in range(len(parts), 0, -1):
        if pair := pairs.get(".".join(parts[:count])):
            return find_line(pair[1], parts[count:], pair[0])
    return line


def list_inventory_variables(groups: Any) -> Iterator[tuple[str, str, str, int, Any]]:
    """Yield the variables of groups and hosts in an inventory of YAML."""
    for group, _, body in list_pairs(groups):
        for kind, _, inner in list_pairs(body):
            if kind == "vars":
                yield from (("all" if group == "all" else "group", group, *pair) for pair in list_pairs(inner))
            elif kind == "hosts":
                yield from (
                    ("host", host, *pair) for host, _, variables in list_pairs(inner) for pair in list_pairs(variables)
                )
            elif kind == "children":
                yield from list_inventory_variables(inner)


def list_ini_variables(text: str) -> Iterator[tuple[str, str, str, int, Any]]:
    """Yield the variables of groups and hosts in an inventory of INI."""
    group, kind = "ungrouped", ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := SECTION.match(line.strip()):
            group, kind = match[1], match[2] or ""
            continue
        try:
            owner, *words = [group, line] if kind == "vars" else shlex.split(line, comments=True) or [""]
        except ValueError:
            continue
        level = "host" if kind == "" else "all" if group == "all" else "group"
        for key, is_set, value in (word.partition("=") for word in words):
            if is_set and kind in ("", "vars"):
                yield level, owner, key.strip(), number, value.strip()
