"""The present work of dpkg, the work that it left unfinished, and the package sources that apt trusts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.packages.software import PACKAGE, SHOW_KEYS, parse_primary_keys
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import index_sections, parse_sections, split_sections

# dpkg-query(1): half-installed, unpacked, half-configured; R wants to be installed anew.
UNFINISHED_STATUS = re.compile(r"[a-z](?:[UFH].|[a-zA-Z]R)")
HALF_CONFIGURED = re.compile(r"[a-z]F[^R]")


@dataclass(frozen=True)
class Holder:
    """Describe a process that holds a lock file, with its age in seconds."""

    file: str
    pid: int
    process: str
    age: int


@dataclass(frozen=True)
class Dpkg:
    """Describe dpkg. `updates` counts records of interrupted work; `unfinished_packages` are neither installed nor
    removed; of these, `half_configured` are those whose script began: it failed, or it was interrupted."""

    holders: tuple[Holder, ...]
    updates: int
    unfinished_packages: tuple[str, ...]
    half_configured: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuildError:
    """Hold a line of the log of a DKMS build that failed. `module` is name/version; `kernel` is the one it was built
    for, empty where the log does not say."""

    module: str
    kernel: str
    line: str


@dataclass(frozen=True)
class Source:
    """Describe one place that apt asks; `key` is the file it trusts it by, empty where none is named or the signature
    does not count."""

    file: str
    uri: str
    suites: str
    key: str
    components: str = ""


@dataclass(frozen=True)
class Keyring:
    """Describe a keyring.

    `size` is None for a missing file. `fingerprints` are of primary keys, None where there is no gpg to read them;
    `expires_at` is when the last of these expires, None for never.
    """

    size: int | None
    fingerprints: tuple[str, ...] | None
    expires_at: datetime | None


@dataclass(frozen=True)
class Sources:
    """Hold the sources of apt and their keyrings by path. `errors` is apt's message where it cannot read all of them:
    then it does nothing at all."""

    sources: tuple[Source, ...]
    keyrings: Mapping[str, Keyring]
    errors: tuple[str, ...] = ()


def parse_dpkg(answer: Answer) -> Dpkg | None:
    """Parse the state of dpkg, or None where there is no dpkg."""
    if answer.stdout.strip() == "== none":
        return None
    locks, updates, package_lines = parse_sections(answer.stdout, "locks", "updates", "unfinished")
    (count,) = updates
    packages = [line.split("|") for line in package_lines]
    if invalid_lines := [
        words for words in packages if not UNFINISHED_STATUS.fullmatch(words[0]) or not PACKAGE.fullmatch(words[1])
    ]:
        raise ValueError(str(invalid_lines))
    return Dpkg(
        tuple(map(parse_holder, locks)),
        parse_integer(count),
        tuple(name for _, name in packages),
        tuple(name for status, name in packages if HALF_CONFIGURED.fullmatch(status)),
    )


def parse_build_errors(answer: Answer) -> tuple[BuildError, ...]:
    """Parse lines `MODULE KERNEL LINE`, - for a kernel that is not known. Raise ValueError for other lines."""
    build_errors = []
    for text in answer.stdout.splitlines():
        module, kernel, line = text.split(" ", 2)
        build_errors.append(BuildError(module, kernel.removeprefix("-"), shorten_message(line.strip())))
    return tuple(build_errors)


def parse_holder(line: str) -> Holder:
    file, pid, age, process = line.split(" ", 3)
    return Holder(file, parse_integer(pid), process, parse_integer(age))


def parse_package_sources(answer: Answer) -> Sources:
    """Parse the sources. Raise ValueError where the answer has another shape."""
    parts = index_sections(split_sections(answer.stdout))
    sources: list[Source] = []
    for line in parts["sources"]:
        file, uris, suites, key, enabled_value, *components = line.split("|")
        if enabled_value.strip().lower() not in ("no", "false", "off", "0"):
            words = [" ".join(text.split()) for text in (suites, *components)]
            sources += [Source(file, uri.rstrip("/"), words[0], key.strip(), *words[1:]) for uri in uris.split()]
    keyrings: dict[str, list[str]] = {}
    sizes: dict[str, str] = {}
    path = ""
    for line in parts["keys"]:
        if line.startswith("key "):
            _, size, path = line.split(" ", 2)
            keyrings[path], sizes[path] = [], size
        else:
            keyrings[path].append(line)
    rings = {path: parse_keyring(sizes[path], listing) for path, listing in keyrings.items()}
    return Sources(tuple(sources), rings, tuple(parts.get("refused", ())))


def parse_keyring(size: str, lines: list[str]) -> Keyring:
    """Parse a keyring. `size` is `-` for a missing file, `?` where there is no gpg."""
    if size == "?":
        return Keyring(None, None, None)
    return Keyring(None if size == "-" else parse_integer(size), parse_primary_keys(lines), parse_key_expiry(lines))


def parse_key_expiry(lines: list[str]) -> datetime | None:
    """Parse when a key expires: field 7 of a `pub` line of gpg's colon listing, in seconds of the epoch."""
    stamps = [line.split(":")[6] for line in lines if line.startswith("pub:")]
    if not stamps or not all(stamps):
        return None
    return datetime.fromtimestamp(max(map(parse_integer, stamps)), UTC)


# apt and dpkg lock with fcntl, which /proc/locks calls POSIX.
DPKG = Probe(
    "packages.dpkg",
    Lines(read_script(__file__, "dpkg.sh")),
    parse_dpkg,
    manual_command="ls /var/lib/dpkg/updates; fuser -v /var/lib/dpkg/lock*",
)
# A build that succeeds leaves its log beside the module; that of one that fails stays where it was built (dkms(8)).
BUILD_ERRORS = Probe(
    "packages.build-errors",
    Lines(read_script(__file__, "build_errors.sh")),
    parse_build_errors,
    manual_command="tail /var/lib/dkms/*/*/build/make.log",
)
# sources.list(5): what stands in brackets or in a field of these makes apt take a source without a valid signature.
UNSIGNED_OPTIONS = "trusted|allow-insecure|allow-weak|allow-downgrade-to-insecure"
# The options keep gpg from making a directory and a trust database of its own. The last part is apt's own judgement:
# one file that it cannot read, or one place with two keys, and it reads none.
SOURCES = Probe(
    "packages.sources",
    Lines(SHOW_KEYS + read_script(__file__, "sources.sh").replace("UNSIGNED", UNSIGNED_OPTIONS)),
    parse_package_sources,
    manual_command="cat /etc/apt/sources.list /etc/apt/sources.list.d/*",
)
