"""Find words of an inventory that look like gpustack's own and that nothing would read.

Ansible accepts any group, any variable and any file. A misspelt one would leave the defaults in force without a word.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from gpustack.config.ansible.inventory_files import VARIABLES, locate_inventory_dir
from gpustack.config.ansible.origins import compose_document, list_pairs, locate_in_file
from gpustack.config.complaint import Complaint, find_nearest, fold_spelling
from gpustack.config.host import GROUPS, IGNORE_VARIABLE, HostSpec
from gpustack.config.spec import Spec
from gpustack.config.yaml_files import ENDINGS, parse_keys

SPEC_KEY = "gpustack"
PREFIX = f"{SPEC_KEY}_"
OWN_KEYS = (SPEC_KEY, *HostSpec.model_fields)
CONNECTION_KEYS = ("ansible_host", "ansible_user", "ansible_port")
"""Variables of Ansible without which another host, login or port is taken."""
EDITS = 2
"""Letters that may differ between a name and the one that was meant."""
REFERENCE = "config-misspelt"


def find_misspellings(
    source: Path | None,
    groups: Mapping[str, Sequence[str]],
    variables: Mapping[str, Mapping[str, object]],
    texts: Mapping[Path, str],
    inventory: str,
) -> list[Complaint]:
    """Return the complaints about variables, files and groups that look like gpustack's own, and about hosts in none of
    its groups. `inventory` is what an operator calls it."""
    return [
        *find_misspelt_variables(inventory, variables, texts),
        *find_unread_files(source, groups, texts, has_spec=any(host.get(SPEC_KEY) for host in variables.values())),
        *(find_misnamed_files(source, variables, texts) if source else ()),
        *(find_misnamed_folders(source) if source else ()),
        *(find_misspelt_groups(inventory, groups, texts) if source else ()),
        *(find_unused_hosts(inventory, groups, variables, texts) if source else ()),
    ]


def find_misspelt_variables(
    inventory: str, variables: Mapping[str, Mapping[str, object]], texts: Mapping[Path, str]
) -> list[Complaint]:
    """Return a complaint for each variable that is nearly the spec's, a host setting's or one of the connection.
    One that begins with `gpustack_` is judged as a setting of its host."""
    names = dict.fromkeys(name for host in variables.values() for name in host)
    rule = "a key of gpustack, or a name that does not look like one"
    return [
        Complaint(
            locate_word(name, texts) or inventory, name, "a variable that nothing reads", rule, REFERENCE, nearest
        )
        for name in names
        if not name.startswith(PREFIX) and (nearest := find_own_key(name) or find_connection_key(name))
    ]


def find_connection_key(name: str) -> str:
    """Find the variable of a connection that a misspelt name stands for; empty for one that is right, or like none."""
    return "" if name in CONNECTION_KEYS else find_within_edits(name, CONNECTION_KEYS)


def find_own_key(name: str) -> str:
    """Find the key of gpustack that a name stands for. Return an empty string for a key that is right, and for one that
    resembles none."""
    if name in OWN_KEYS:
        return ""
    nearest = find_within_edits(name, OWN_KEYS)
    if not nearest and find_within_edits(fold_spelling(name).partition("-")[0], (SPEC_KEY,)):
        nearest = find_nearest(name, OWN_KEYS) or SPEC_KEY
    return nearest


def find_unread_files(
    source: Path | None, groups: Mapping[str, Sequence[str]], texts: Mapping[Path, str], *, has_spec: bool
) -> list[Complaint]:
    """Return a complaint for each file of the spec's name without a key of gpustack, and for each file with such a key
    that is not read, or in variables of a group or a host that the inventory does not have."""
    complaints = []
    hosts = {host for members in groups.values() for host in members}
    for path, text in texts.items():
        # A file without the word has no key of gpustack, and needs no parser.
        keys = parse_keys(path, text) if SPEC_KEY in text or path.stem == SPEC_KEY else None
        if path.stem == SPEC_KEY or (SPEC_KEY in (keys or ()) and not has_spec):
            complaints += judge_spec_file(path, text)
        if keys is None:
            continue
        if source and (file := find_preferred_file(path)) and (own_key := find_first_own(keys, has_spec=has_spec)):
            rule = f"variables in {file}: Ansible reads it alone of the two"
            place = locate_in_file(str(path), own_key)
            complaints.append(Complaint(place, own_key, "a setting in a file that is not read", rule, REFERENCE))
        is_own = any(key in OWN_KEYS or key.startswith(PREFIX if source else (PREFIX, "ansible_")) for key in keys)
        # A misspelt key has a complaint of its own.
        if keys and not is_own and path.stem == SPEC_KEY and not any(map(find_own_key, keys)):
            rule = f"`{SPEC_KEY}:` with the spec, or variables that begin with {PREFIX}"
            complaints.append(Complaint(f"{path}:1", keys[0], "no key of gpustack", rule, REFERENCE))
        if is_own and source and (folder := find_unread_folder(source, path, groups, hosts)):
            kind, name, known_names = folder
            rule = f"the name of a {kind} of the inventory"
            nearest = find_nearest(name, known_names)
            complaints.append(Complaint(str(path), name, f"variables of no {kind}", rule, REFERENCE, nearest))
    return complaints


def judge_spec_file(path: Path, text: str) -> list[Complaint]:
    """Return a complaint for a file of the spec that is no mapping, and for keys of the spec beside `gpustack:`."""
    document = compose_document(text)
    if document is not None and document.id != "mapping" and not document.tag.endswith(":null"):
        return [Complaint(f"{path}:1", "", "no mapping", f"`{SPEC_KEY}:` with the spec below it", REFERENCE)]
    pairs, rule = list(list_pairs(document)), f"a place below `{SPEC_KEY}:`, with two blanks before it"
    return [
        Complaint(f"{path}:{line}", key, f"a key of the spec beside `{SPEC_KEY}:`", rule, REFERENCE)
        for key, line, _ in pairs
        if key in Spec.model_fields and any(name == SPEC_KEY for name, _, _ in pairs)
    ]


def find_preferred_file(path: Path) -> Path | None:
    """Find the directory or file of variables of the same group or host that Ansible reads alone, before this one."""
    if path.parent.name not in VARIABLES or path.suffix not in ENDINGS:
        return None
    candidates = (path.with_suffix(ending) for ending in ("", *ENDINGS[: ENDINGS.index(path.suffix)]))
    return next((candidate for candidate in candidates if candidate.exists()), None)


def find_first_own(keys: Sequence[str], *, has_spec: bool) -> str:
    """Find the first key of gpustack. A spec that is not the only one has a complaint of its own."""
    own_keys = [key for key in OWN_KEYS if key != SPEC_KEY or not has_spec]
    return next((key for key in keys if key in own_keys or key.startswith(PREFIX)), "")


def find_misnamed_files(
    source: Path, variables: Mapping[str, Mapping[str, object]], texts: Mapping[Path, str]
) -> list[Complaint]:
    """Return a complaint for each file of variables of all hosts that has the spec and whose name Ansible does not
    read. Beside a spec that is read, only a misspelt ending is a mistake: others are those of copies."""
    place, complaints = locate_inventory_dir(source) / VARIABLES[0], []
    has_spec = any(SPEC_KEY in host for host in variables.values())
    rule = f"a name that ends in {', '.join(ENDINGS)}"
    for path, text in texts.items():
        ending = path.suffix
        if not path.is_relative_to(place) or path.relative_to(place).parts[0].partition(".")[0] != "all":
            continue
        if (ending in (*ENDINGS, "") and not path.name.endswith("~")) or SPEC_KEY not in text:
            continue
        is_misspelt = not ending.endswith("~") and any(
            count_edits(ending.lower(), known_ending) <= 1 for known_ending in ENDINGS
        )
        if (is_misspelt or not has_spec) and SPEC_KEY in (parse_keys(path.with_name(SPEC_KEY), text) or ()):
            nearest = f"{path.name.partition('.')[0].strip('~')}.yml"
            complaints.append(Complaint(str(path), SPEC_KEY, "a spec in a file not read", rule, REFERENCE, nearest))
    return complaints


def find_misnamed_folders(source: Path) -> list[Complaint]:
    """Return a complaint for each folder beside the inventory whose name is nearly that of its variables."""
    base, rule = locate_inventory_dir(source), "a name that does not look like one of Ansible's"
    return [
        Complaint(str(path), "", "a directory that nothing reads", rule, REFERENCE, nearest)
        for path in sorted(base.glob("*"))
        if path.name not in VARIABLES and not path.name.endswith("~") and path.is_dir()
        if (nearest := find_within_edits(path.name, VARIABLES))
    ]


def find_unread_folder(
    source: Path, path: Path, groups: Mapping[str, Sequence[str]], hosts: set[str]
) -> tuple[str, str, list[str]] | None:
    """Return kind, name and the known names where a file holds the variables of an unknown group or host."""
    base = locate_inventory_dir(source)
    parts = path.relative_to(base).parts
    if len(parts) < 2 or parts[0] not in VARIABLES:
        return None
    kind, known_names = ("group", list(groups)) if parts[0] == VARIABLES[0] else ("host", sorted(hosts))
    name = path.stem if len(parts) == 2 and path.suffix in ENDINGS else parts[1]
    return None if {name, parts[1]} & {*known_names, "all"} else (kind, name, known_names)


def find_misspelt_groups(
    inventory: str, groups: Mapping[str, Sequence[str]], texts: Mapping[Path, str]
) -> list[Complaint]:
    """Return a complaint for each group that is nearly one of gpustack's."""
    rule = "a group of gpustack, or a name that does not look like one"
    return [
        Complaint(locate_word(name, texts) or inventory, name, "a group that nothing reads", rule, REFERENCE, nearest)
        for name in groups
        if (nearest := find_own_group(name))
    ]


def find_own_group(name: str) -> str:
    """Find the group of gpustack that a name stands for. Return an empty string for a group of gpustack, and for one
    that resembles none."""
    return "" if name in GROUPS else find_within_edits(name, GROUPS)


def is_misspelt_in(group: str, groups: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether another group of the inventory is nearly this one. The complaint is about that group then."""
    return any(find_own_group(name) == group for name in groups)


def find_unused_hosts(
    inventory: str,
    groups: Mapping[str, Sequence[str]],
    variables: Mapping[str, Mapping[str, object]],
    texts: Mapping[Path, str],
) -> list[Complaint]:
    """Return a complaint for each host that is in none of gpustack's groups and is not marked as one to ignore. A host
    of a misspelt group has the complaint of the group."""
    near_groups = [name for name in groups if find_own_group(name)]
    member_hosts = {host for name in (*GROUPS, *near_groups) for host in groups.get(name, ())}
    hosts = dict.fromkeys(host for members in groups.values() for host in members)
    rule = f"a host of {', '.join(GROUPS)}, or with {IGNORE_VARIABLE}: true"
    complaints = []
    for host in hosts:
        if host in member_hosts or str(variables.get(host, {}).get(IGNORE_VARIABLE, "")).lower() == "true":
            continue
        names = [name for name, members in groups.items() if host in members and name not in ("all", "ungrouped")]
        actual = f"a host in {', '.join(names)} only" if names else "a host in no group"
        nearest = next((nearest for name in names if (nearest := find_nearest(name, GROUPS))), "")
        complaints.append(
            Complaint(locate_word(host, texts) or inventory, host, actual, rule, "inventory-host-unused", nearest)
        )
    return complaints


def find_within_edits(word: str, words: Sequence[str]) -> str:
    """Find the word from which `word` differs in at most EDITS letters, or an empty string. Case and dashes do not
    count."""
    spelling = fold_spelling(word)
    return next((candidate for candidate in words if count_edits(spelling, fold_spelling(candidate)) <= EDITS), "")


@cache
def count_edits(word: str, target: str) -> int:
    """Count the letters to add, drop or replace until the words are equal (Levenshtein's distance)."""
    row = list(range(len(target) + 1))
    for position, letter in enumerate(word, 1):
        previous, row = row, [position]
        for column, opposite in enumerate(target, 1):
            row.append(min(previous[column] + 1, row[-1] + 1, previous[column - 1] + (letter != opposite)))
    return row[-1]


def locate_word(word: str, texts: Mapping[Path, str]) -> str:
    """Return file and line of a key, host or group, without comments. Return an empty string where no text has it."""
    pattern = re.compile(rf"^[^#\n]*?(?<![\w.-])[\"']?{re.escape(word)}[\"']?(?=\s*[:=\]]|\s|$)", re.MULTILINE)
    for path, text in texts.items():
        if match := pattern.search(text):
            return f"{path}:{text.count(chr(10), 0, match.end()) + 1}"
    return ""
