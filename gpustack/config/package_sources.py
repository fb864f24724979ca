"""The package sources that the spec names for driver containers: a file on this machine, as apt reads it."""

import re
from pathlib import Path

from gpustack.command import Command
from gpustack.config.secrets.secret_file import Kind, describe_unread, expand_home, judge_secret_place
from gpustack.errors import ConfigError
from gpustack.files.read import read_text

SOURCES = Kind("package sources of apt", 0)
LARGEST = 64 * 1024
"""Bytes that a file may have; a key within `Signed-By` has some 5,000."""
# apt ignores files of other names (sources.list(5)); both forms begin so.
NAME = re.compile(r"[A-Za-z0-9_.-]+\.(list|sources)")
FORMS = {
    "list": re.compile(r"^deb[ \t]+(\[[^]\n]*\][ \t]+)?\w[\w+.-]*:\S+[ \t]+\S", re.MULTILINE),
    "sources": re.compile(r"^Types:[ \t]*deb\b", re.MULTILINE),
}
LOGIN = re.compile(r"://[^/\s]*@")


def read_package_sources(path: str) -> str:
    """Read a file with package sources. Raise ConfigError when it cannot be used."""
    if wrong := judge_package_sources(path):
        actual, rule = wrong
        raise ConfigError(
            "config-package-sources", f"{path}: {actual}.", f"Allowed: {rule}.", Command("cat", expand_home(path))
        )
    return read_text(Path(path).expanduser(), LARGEST)


def judge_package_sources(path: str, inventory: Path | None = None) -> tuple[str, str] | None:
    """Return (actual, rule) of a file that cannot be used. `inventory` is the folder that Ansible reads as a whole."""
    file = Path(path).expanduser()
    if wrong := judge_secret_place(file, inventory, SOURCES):
        return wrong
    if not NAME.fullmatch(file.name):
        return "a name that apt ignores", "a name that ends in .list or .sources, of letters, digits, and any of _ . -"
    try:
        text = read_text(file, LARGEST)
    except OSError as error:
        return describe_unread(error, SOURCES)
    except UnicodeDecodeError:
        return "a file that is no text", SOURCES.name
    if not all(character.isascii() and (character.isprintable() or character in "\n\t") for character in text):
        return "a file with other characters than those of ASCII", f"{SOURCES.name} in printable characters of ASCII"
    if LOGIN.search(text):
        return "a file with a login in an address", "addresses without a login: everybody in the cluster could read it"
    if not FORMS[file.suffix[1:]].search(text):
        return "a file without a source", "lines that begin with deb in a .list file, Types: deb in a .sources file"
    return None
