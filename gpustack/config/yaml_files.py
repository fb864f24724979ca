"""The files of an inventory that are not YAML: ansible-inventory often does not name the file."""

import re
from collections.abc import Iterator
from pathlib import Path

from gpustack.config.ansible.inventory_files import VARIABLES, locate_inventory_dir
from gpustack.config.complaint import Complaint
from gpustack.errors import describe_os_error
from gpustack.files.document import YAML_TEXT_LIMIT, DocumentError, LimitError
from gpustack.files.read import LIMITS, read_text
from gpustack.files.yaml_text import Rules, parse_yaml

ENDINGS = (".yml", ".yaml", ".json")
VAULT = "$ANSIBLE_VAULT"
"""The first word of a file that ansible-vault encrypted."""
REASONS = {
    "found character that cannot start any token": "a tab, or another character that needs quotes",
    "found unhashable key": "a mapping in place of a text; one that begins with {{ needs quotes",
    "but found another document": "a second document after ---",
    "mapping values are not allowed in this context": "a colon in a text without quotes, or wrong indentation",
    "did not find expected key": "wrong indentation, or a missing colon or quote",
    "found unexpected end of stream": "a quote that is not closed",
    "could not find expected ':'": "a key without a colon, or wrong indentation",
}
"""An operator reads these words in place of those of the parsers of YAML."""
UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that YAML does not allow."""
ANSIBLE = Rules(aliases=True, tags=True, unique=True, plain=False)


def find_broken_files(source: Path) -> list[Complaint]:
    """Return a complaint for every YAML file of an inventory that cannot be parsed, or has a key twice in one
    mapping."""
    return [complaint for path in list_candidates(source) if (complaint := judge_yaml_file(path))]


def list_candidates(source: Path) -> Iterator[Path]:
    base = locate_inventory_dir(source)
    if source.is_dir():
        yield from sorted(path for path in source.iterdir() if path.is_file() and path.suffix in ENDINGS)
    elif source.suffix in ENDINGS:
        yield source
    for folder in ("group_vars", "host_vars"):
        paths = (path for path in (base / folder).glob("**/*") if path.is_file())
        yield from sorted(path for path in paths if path.suffix in (*ENDINGS, ""))


def judge_yaml_file(path: Path) -> Complaint | None:
    """Return the complaint about a file that Ansible reads, None for one that is right or encrypted."""
    text, wrong = read_yaml_text(path)
    if wrong or text.startswith(VAULT):
        return wrong
    if control := UNPRINTABLE.search(text):
        line = text.count("\n", 0, control.start()) + 1
        actual = f"not valid YAML (the control character U+{ord(control[0]):04X})"
        return Complaint(f"{path}:{line}", "", actual, "YAML", "config-not-yaml")
    try:
        document = parse_yaml(text, ANSIBLE)
    except DocumentError as error:
        return describe_error(path, error)
    if document is not None and not isinstance(document, dict) and {*path.parts} & {*VARIABLES}:
        return Complaint(f"{path}:1", "", "no mapping", "variables, each as `name: value`", "config-not-yaml")
    return None


def read_yaml_text(path: Path) -> tuple[str, Complaint | None]:
    try:
        return read_text(path, YAML_TEXT_LIMIT), None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        actual = f"not valid YAML (byte 0x{error.object[error.start]:02X}, which is not UTF-8)"
        return "", Complaint(f"{path}:{line}", "", actual, "YAML in UTF-8", "config-not-yaml")
    except OSError as error:
        reference = "config-file-limit" if error.errno in LIMITS else "config-not-yaml"
        rule = f"a regular file of at most {YAML_TEXT_LIMIT} bytes"
        return "", Complaint(str(path), "", describe_os_error(error), rule, reference)


def describe_error(path: Path, error: DocumentError) -> Complaint:
    place = f"{path}:{error.line}:{error.column}" if error.line else str(path)
    if isinstance(error, LimitError):
        return Complaint(place, "", error.reason, "a document within the limits", "config-file-limit")
    actual = f"not valid YAML ({REASONS.get(error.reason, error.reason)})"
    return Complaint(place, "", actual, "YAML", "config-not-yaml")


def parse_keys(path: Path, text: str) -> list[str] | None:
    """Return the top keys of a YAML file, or None where it is no mapping. Ansible reports what is no YAML."""
    if path.suffix not in (*ENDINGS, ""):
        return None
    try:
        document = parse_yaml(text, ANSIBLE)
    except DocumentError:
        return None
    return [str(key) for key in document] if isinstance(document, dict) else None
