"""Checks an apt repository of ours; the steps containerd, kubernetes, gpu-driver and gpu-runtime each have one.

apt reads no source at all if two of them name the same location and suite with different `Signed-By` (seen with apt
2.6: "E: Conflicting values set for option Signed-By"; http or https, a trailing slash and other components make no
difference). So an existing source for the location of ours is used as it is if it trusts our key and no other, and is
reported to the operator if it does not.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from gpustack.ask.judge import Result, as_text
from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.command import Command, Hint, Prose, join_hints
from gpustack.config.resolved import apt_of, end_of
from gpustack.probes.host.system import OS
from gpustack.probes.packages.dpkg import SOURCES, Source
from gpustack.probes.packages.software import REPOSITORIES, Repositories, Repository

# What NVIDIA calls a server of this architecture.
PLATFORMS = {"amd64": "x86_64", "arm64": "sbsa"}


def repository_mismatch(here: View, name: str, probe: Probe[Repositories] = REPOSITORIES) -> Result | None:
    """None when apt knows the repository as the spec says, with the expected key and no other."""
    if unknown := system_mismatch(here, name):
        return unknown
    wanted, found = repository_of(here, name), here[probe].ours[name]
    if others := foreign_sources(here, name, wanted):
        unfit = [(source, why) for source in others if (why := unfitness(here, source, wanted))]
        if unfit:
            return foreign_mismatch(here, wanted, unfit)
        one = f"one source, /etc/apt/{others[0].file} with the same key"
        return Result(f"apt repository {name}", one, "two, one of them by gpustack") if found else None
    if found == wanted:
        return ended_mismatch(here, name, wanted)
    differing = "nothing" if found is None else differences(wanted, found)
    return Result(f"apt repository {name}", f"{wanted.uri}, key {wanted.fingerprints[0]}", differing)


def placed(here: View, name: str) -> dict[str, str]:
    """The repository of this name for a host. Where no key is known for its system, `{key}` stays as it is."""
    system, source = here[OS], apt_of(here.spec)[name]
    own = source.pop("by_system").get(f"{system.id}{system.version.replace('.', '')}", {})
    known = {
        **{f"{{{word}}}": text for word, text in own.items()},
        "{os}": system.id,
        "{codename}": system.codename,
        "{release}": system.version.replace(".", ""),
        "{arch}": system.arch,
        "{platform}": PLATFORMS.get(system.arch, system.arch),
    }
    return {key: filled(text, known) for key, text in source.items()}


def system_mismatch(here: View, name: str) -> Result | None:
    """Where each system has its own key, and none is known for this one."""
    if "{key}" not in placed(here, name)["key"]:
        return None
    system = here[OS]
    hint = Prose("no repository for this system is known; gpu.driver.mode: none leaves the driver to you")
    known_for = as_text(sorted(apt_of(here.spec)[name]["by_system"]))
    found_for = f"none for {system.id}{system.version.replace('.', '')}"
    return Result(f"apt repository {name}", f"one for {known_for}", found_for, "operator", hint=hint)


def repository_of(here: View, name: str) -> Repository:
    """The expected repository on this host."""
    place = placed(here, name)
    keyring = f"/etc/apt/keyrings/gpustack-{name}.gpg"
    return Repository(place["uri"], place["suite"], place["components"], keyring, (place["fingerprint"],))


def foreign_sources(here: View, name: str, wanted: Repository) -> list[Source]:
    """Sources for the same address in other files, with any suite."""
    ours, arch = f"sources.list.d/gpustack-{name}.sources", here[OS].arch
    named = (source for source in here[SOURCES].sources if source.file != ours)
    return [one for one in named if address(one.uri.replace("$(ARCH)", arch)) == address(wanted.uri)]


def address(uri: str) -> str:
    return uri.rpartition("://")[2].rstrip("/")


def unfitness(here: View, source: Source, wanted: Repository) -> str:
    """Why a source from another file cannot replace gpustack's, or an empty string. Raises ValueError if that is
    unknown."""
    ring = here[SOURCES].keyrings.get(source.key)
    if ring and ring.fingerprints is None:
        raise ValueError(f"no gpg to read {source.key}")
    if wanted.suite not in source.suites.split():
        return f"suite {as_text(source.suites)}"
    if wanted.components and wanted.components not in source.components.split():
        return f"components {as_text(source.components)}"
    if source.uri.partition("://")[0] != wanted.uri.partition("://")[0]:
        return source.uri
    if not ring or ring.fingerprints != wanted.fingerprints:
        return f"key {as_text(ring.fingerprints) if ring and ring.fingerprints else as_text(source.key)}"
    return f"its key expired on {ring.ends:%Y-%m-%d}" if ring.ends and ring.ends <= here.taken else ""


def foreign_mismatch(here: View, wanted: Repository, unfit: list[tuple[Source, str]]) -> Result:
    found = as_text([f"/etc/apt/{source.file} ({why})" for source, why in unfit])
    ways = dict.fromkeys(way_out(here, source) for source, _ in unfit)
    hint = join_hints(*ways, note="install writes a source of its own")
    expected = f"none, or with only the key {wanted.fingerprints[0]}"
    return Result(f"other sources of {wanted.uri}", expected, found, "operator", hint=hint)


def way_out(here: View, source: Source) -> Hint:
    """Removing a line from a deb822 file would leave an incomplete source, so that apt reads none: the whole file is
    moved away, unless it has other addresses."""
    uris = {address(one.uri) for one in here[SOURCES].sources if one.file == source.file}
    if len(uris) == 1 and source.file != "sources.list":
        return Command("mv", f"/etc/apt/{source.file}", f"/etc/apt/{source.file}.disabled")
    if source.file.endswith(".sources"):
        return Prose("add the line `Enabled: no` to its stanza of {} in {}", source.uri, f"/etc/apt/{source.file}")
    return Prose("put # before its line of {} in {}", source.uri, f"/etc/apt/{source.file}")


def ended_mismatch(here: View, name: str, wanted: Repository) -> Result | None:
    """A key that has expired, or that its owner is known to have extended since."""
    ring = here[SOURCES].keyrings.get(wanted.keyring)
    if not ring or not ring.ends:
        return None
    what = f"key of apt repository {name}"
    if ring.ends <= here.taken:
        return Result(what, "valid", f"{wanted.fingerprints[0]}, expired on {ring.ends:%Y-%m-%d}")
    prolonged = end_of(here.spec, name)
    if prolonged and ring.ends.date() < prolonged:
        return Result(what, f"valid until {prolonged}", f"valid until {ring.ends:%Y-%m-%d}")
    return None


def taken_sources(here: View) -> Mapping[str, str]:
    """gpustack's repositories that another file already configures, with that file. Empty if that is unknown: then the
    role reports the conflict."""
    found = {}
    for name in apt_of(here.spec):
        with suppress(FactUnavailable, ValueError):
            wanted = repository_of(here, name)
            others = foreign_sources(here, name, wanted)
            if others and not any(unfitness(here, source, wanted) for source in others):
                found[name] = f"/etc/apt/{others[0].file}"
    return found


def filled(text: str, known: Mapping[str, str]) -> str:
    for word, value in known.items():
        text = text.replace(word, value)
    return text


def differences(wanted: Repository, found: Repository) -> str:
    return ", ".join(differing(wanted, found))


def differing(wanted: Repository, found: Repository) -> Iterator[str]:
    for key in ("uri", "suite", "components", "keyring", "fingerprints"):
        if (value := getattr(found, key)) != getattr(wanted, key):
            yield f"{key} {as_text(value)}"
