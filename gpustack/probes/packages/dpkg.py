"""What dpkg is at, what it left unfinished, and which package sources apt trusts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.packages.software import SHOW_KEYS, primary_keys
from gpustack.probes.parsing import number
from gpustack.probes.sections import named, read_sections, sections

PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
# dpkg-query(1): half-installed, unpacked, half-configured; R wants to be installed anew.
UNFINISHED = re.compile(r"[a-z](?:[UFH].|[a-zA-Z]R)")


@dataclass(frozen=True)
class Holder:
    """Who has a lock file, for how many seconds it has run."""

    file: str
    pid: int
    process: str
    age: int


@dataclass(frozen=True)
class Dpkg:
    """`updates` counts records of work that was broken off; `unfinished` packages are neither installed nor gone."""

    holders: tuple[Holder, ...]
    updates: int
    unfinished: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """One place that apt asks; `key` is the file it trusts it by, empty where none is named or the signature does not
    count."""

    file: str
    uri: str
    suites: str
    key: str
    components: str = ""


@dataclass(frozen=True)
class Keyring:
    """`size` is None for a file that is not there. `fingerprints` are of primary keys, None where there is no gpg to
    read them; `ends` is when the last of these expires, None for never."""

    size: int | None
    fingerprints: tuple[str, ...] | None
    ends: datetime | None


@dataclass(frozen=True)
class Sources:
    """Keyrings by path. `refused` is what apt says where it cannot read all of them: then it does nothing at all."""

    sources: tuple[Source, ...]
    keyrings: Mapping[str, Keyring]
    refused: tuple[str, ...] = ()


def dpkg(answer: Answer) -> Dpkg | None:
    """None where there is no dpkg."""
    if answer.out.strip() == "== none":
        return None
    locks, updates, unfinished = read_sections(answer.out, "locks", "updates", "unfinished")
    (count,) = updates
    packages = [line.split("|") for line in unfinished]
    if odd := [words for words in packages if not UNFINISHED.fullmatch(words[0]) or not PACKAGE.fullmatch(words[1])]:
        raise ValueError(str(odd))
    return Dpkg(tuple(map(holder, locks)), number(count), tuple(name for _, name in packages))


def holder(line: str) -> Holder:
    file, pid, age, process = line.split(" ", 3)
    return Holder(file, number(pid), process, number(age))


def package_sources(answer: Answer) -> Sources:
    """Raises ValueError for an answer of another shape."""
    parts = named(sections(answer.out))
    found: list[Source] = []
    for line in parts["sources"]:
        file, uris, suites, key, enabled, *components = line.split("|")
        if enabled.strip().lower() not in ("no", "false", "off", "0"):
            words = [" ".join(text.split()) for text in (suites, *components)]
            found += [Source(file, uri.rstrip("/"), words[0], key.strip(), *words[1:]) for uri in uris.split()]
    keyrings: dict[str, list[str]] = {}
    sizes: dict[str, str] = {}
    path = ""
    for line in parts["keys"]:
        if line.startswith("key "):
            _, size, path = line.split(" ", 2)
            keyrings[path], sizes[path] = [], size
        else:
            keyrings[path].append(line)
    rings = {path: keyring(sizes[path], listing) for path, listing in keyrings.items()}
    return Sources(tuple(found), rings, tuple(parts.get("refused", ())))


def keyring(size: str, lines: list[str]) -> Keyring:
    """`size` is `-` for a file that is not there, `?` where no gpg is."""
    if size == "?":
        return Keyring(None, None, None)
    return Keyring(None if size == "-" else number(size), primary_keys(lines), ends(lines))


def ends(lines: list[str]) -> datetime | None:
    """Of gpg's colon listing, field 7 of a `pub` line is when it expires, in seconds of the epoch."""
    stamps = [line.split(":")[6] for line in lines if line.startswith("pub:")]
    if not stamps or not all(stamps):
        return None
    return datetime.fromtimestamp(max(map(number, stamps)), UTC)


# apt and dpkg lock with fcntl, which /proc/locks calls POSIX.
DPKG = Probe(
    "packages.dpkg",
    Lines(read_script(__file__, "dpkg.sh")),
    dpkg,
    like="ls /var/lib/dpkg/updates; fuser -v /var/lib/dpkg/lock*",
)
# sources.list(5): what stands in brackets or in a field of these makes apt take a source without a valid signature.
UNSIGNED = "trusted|allow-insecure|allow-weak|allow-downgrade-to-insecure"
# The options keep gpg from making a directory and a trust database of its own. The last part is apt's own judgement:
# one file that it cannot read, or one place with two keys, and it reads none.
SOURCES = Probe(
    "packages.sources",
    Lines(SHOW_KEYS + read_script(__file__, "sources.sh").replace("UNSIGNED", UNSIGNED)),
    package_sources,
    like="cat /etc/apt/sources.list /etc/apt/sources.list.d/*",
)
