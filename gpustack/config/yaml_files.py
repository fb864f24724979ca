"""Which of the operator's files are not YAML, and where: ansible-inventory often does not name the file."""

from collections.abc import Iterator
from pathlib import Path

from gpustack.config.complaint import Complaint
from gpustack.files.document import YAML_TEXT, DocumentError, LimitError
from gpustack.files.read import LIMITS, read_text
from gpustack.files.yaml_text import Rules, parse_yaml

ENDINGS = (".yml", ".yaml", ".json")
VAULT = "$ANSIBLE_VAULT"
"""The first word of a file that ansible-vault encrypted."""
ANSIBLE = Rules(aliases=True, tags=True, unique=True, plain=False)


def broken(source: Path) -> list[Complaint]:
    """Every YAML file of an inventory that cannot be parsed, or says a key twice in one mapping."""
    return [complaint for path in candidates(source) if (complaint := judged(path))]


def candidates(source: Path) -> Iterator[Path]:
    base = source if source.is_dir() else source.parent
    if source.is_dir():
        yield from sorted(path for path in source.iterdir() if path.is_file() and path.suffix in ENDINGS)
    elif source.suffix in ENDINGS:
        yield source
    for folder in ("group_vars", "host_vars"):
        found = (path for path in (base / folder).glob("**/*") if path.is_file())
        yield from sorted(path for path in found if path.suffix in (*ENDINGS, ""))


def judged(path: Path) -> Complaint | None:
    """Return what is wrong with a file that Ansible reads, None for one that is right or encrypted."""
    text, wrong = read_yaml_text(path)
    if wrong or text.startswith(VAULT):
        return wrong
    try:
        parse_yaml(text, ANSIBLE)
    except DocumentError as error:
        return describe_error(path, error)
    return None


def read_yaml_text(path: Path) -> tuple[str, Complaint | None]:
    try:
        return read_text(path, YAML_TEXT), None
    except UnicodeDecodeError as error:
        return "", Complaint(str(path), "", f"no YAML ({error})", "YAML in UTF-8", "config-not-yaml")
    except OSError as error:
        reference = "config-file-limit" if error.errno in LIMITS else "config-not-yaml"
        allowed = f"a regular file of at most {YAML_TEXT} bytes"
        return "", Complaint(str(path), "", error.strerror or str(error), allowed, reference)


def describe_error(path: Path, error: DocumentError) -> Complaint:
    where = f"{path}:{error.line}:{error.column}" if error.line else str(path)
    if isinstance(error, LimitError):
        return Complaint(where, "", error.reason, "a document within the limits", "config-file-limit")
    return Complaint(where, "", f"no YAML ({error.reason})", "YAML", "config-not-yaml")
