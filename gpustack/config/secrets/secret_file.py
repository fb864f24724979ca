"""Secrets of the spec: never a value, always the path of a file on this machine that holds one and nothing else."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import ConfigError
from gpustack.files.read import open_file, read_text


@dataclass(frozen=True)
class Kind:
    """Describe what a file holds: its name, the most characters it may have, and its form."""

    name: str
    longest: int
    form: re.Pattern[str] = re.compile("")


LARGEST = 4096
"""Bytes that a file may have: more than any kind of secret has, with an end of lines that an editor leaves."""
PASSWORD = Kind("a password", 256)
INTEGRATION = Kind("an integration key", 256)
# A webhook has no other credential: whoever knows the address may send.
URL = Kind("an address that begins with http:// or https://", 2048, re.compile(r"https?://[^/]"))


def read_secret(path: str, kind: Kind = PASSWORD) -> str:
    """Read a secret without white space at its end. Raise ConfigError, which names the file and never its content."""
    if wrong := judge_secret_file(path, kind=kind):
        actual, rule = wrong
        raise ConfigError(
            "config-secret-file", f"{path}: {actual}.", f"Allowed: {rule}.", Command("ls", "-l", expand_home(path))
        )
    return read_text(Path(path).expanduser(), LARGEST).rstrip()


def expand_home(path: str) -> str:
    """Return the path for a command: a shell does not know ~ within quotes."""
    return str(Path(path).expanduser())


def judge_secret_place(file: Path, inventory: Path | None, kind: Kind) -> tuple[str, str] | None:
    """Return (actual, rule) of a file that may not be opened at all."""
    if not file.is_absolute():
        return "a relative path", "an absolute path, or one that begins with ~/"
    if inventory and file.resolve().is_relative_to(inventory.resolve()):
        return (
            "a file in the inventory's directory",
            "a place outside it: Ansible reads every file there as an inventory",
        )
    if file.exists() and not file.is_file():
        return "no plain file", f"a plain file that holds {kind.name} and nothing else"
    return None


def describe_unread(error: OSError, kind: Kind) -> tuple[str, str]:
    """Return (actual, rule) of a file whose content everybody may read, and that could not be read."""
    if isinstance(error, FileNotFoundError):
        return "no such file", f"a file on this machine with {kind.name}"
    return f"a file that cannot be read ({error.strerror})", "a file that the user of gpustack can read"


def judge_secret_file(path: str, inventory: Path | None = None, kind: Kind = PASSWORD) -> tuple[str, str] | None:
    """Return (actual, rule) of a file that cannot be used. `inventory` is the folder that Ansible reads as a whole."""
    file = Path(path).expanduser()
    if wrong := judge_secret_place(file, inventory, kind):
        return wrong
    try:
        with open_file(file, LARGEST) as stream:
            mode, text = os.fstat(stream.fileno()).st_mode & 0o777, stream.read(LARGEST).decode("ascii").rstrip()
    except FileNotFoundError:
        return "no such file", f"a file on this machine that holds {kind.name} and nothing else"
    except OSError as error:
        return f"a file that cannot be read ({error.strerror})", "a file that the user of gpustack can read"
    except ValueError:
        return "a file that is not plain text", "printable ASCII characters"
    if mode & 0o077:
        return (
            f"a file of mode {mode:04o}, which others can read",
            f"mode 0600 ({Command('chmod', '600', expand_home(path))})",
        )
    if not text:
        return "an empty file", kind.name
    if len(text) > kind.longest or not text.isprintable() or " " in text:
        return "more than one word", f"{kind.name} in printable characters without spaces, at most {kind.longest}"
    if not kind.form.match(text):
        return "a file with something else", kind.name
    return None
