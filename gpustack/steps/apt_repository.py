"""Checks of an apt repository of gpustack; the steps containerd, kubernetes, gpu-driver and gpu-runtime each have one.

apt reads no source at all if two of them name the same location and suite with different `Signed-By` (seen with apt
2.6: "E: Conflicting values set for option Signed-By"; http or https, a trailing slash and other components make no
difference). So an existing source for the same location is used as it is if it trusts the expected key and no other,
and is reported to the operator if it does not.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from gpustack.ask.judge import Result, format_value
from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.command import Command, Hint, Prose, join_hints
from gpustack.config.resolution import build_apt_repositories, find_key_expiry
from gpustack.probes.host.system import OS
from gpustack.probes.packages.dpkg import SOURCES, Source
from gpustack.probes.packages.software import REPOSITORIES, Repositories, Repository

# What NVIDIA calls a server of this architecture.
PLATFORMS = {"amd64": "x86_64", "arm64": "sbsa"}


def find_repository_mismatch(view: View, name: str, probe: Probe[Repositories] = REPOSITORIES) -> Result | None:
    """Compare the repository in apt with the spec. Return None when apt knows it with the expected key and no other."""
    if system_mismatch := find_system_mismatch(view, name):
        return system_mismatch
    expected_repository, actual_repository = build_repository(view, name), view[probe].by_name[name]
    if foreign_sources := find_foreign_sources(view, name, expected_repository):
        unfit_sources = [
            (source, flaw) for source in foreign_sources if (flaw := describe_flaw(view, source, expected_repository))
        ]
        if unfit_sources:
            return build_source_mismatch(view, expected_repository, unfit_sources)
        expected_sources = f"one source, /etc/apt/{foreign_sources[0].file} with the same key"
        if actual_repository:
            return Result(f"apt repository {name}", expected_sources, "two, one of them by gpustack")
        return None
    if actual_repository == expected_repository:
        return find_refused_source(view, name) or find_key_mismatch(view, name, expected_repository)
    difference = (
        "nothing" if actual_repository is None else ", ".join(list_differences(expected_repository, actual_repository))
    )
    return Result(
        f"apt repository {name}", f"{expected_repository.uri}, key {expected_repository.fingerprints[0]}", difference
    )


def find_refused_source(view: View, name: str) -> Result | None:
    """Return a Result where apt cannot read gpustack's own source: it reads no source at all then."""
    errors = [line for line in view[SOURCES].errors if f"/gpustack-{name}.sources" in line]
    return Result(f"apt repository {name}", "a source that apt can read", format_value(errors)) if errors else None


def resolve_repository(view: View, name: str) -> dict[str, str]:
    """Resolve the repository of this name for a host. Where no key is known for its system, `{key}` stays as it is."""
    system, source = view[OS], build_apt_repositories(view.spec)[name]
    system_values = source.pop("by_system").get(f"{system.id}{system.version.replace('.', '')}", {})
    replacements = {
        **{f"{{{word}}}": text for word, text in system_values.items()},
        "{os}": system.id,
        "{codename}": system.codename,
        "{release}": system.version.replace(".", ""),
        "{arch}": system.arch,
        "{platform}": PLATFORMS.get(system.arch, system.arch),
    }
    return {key: fill_placeholders(text, replacements) for key, text in source.items()}


def find_system_mismatch(view: View, name: str) -> Result | None:
    """Return a Result where each system has its own key, and none is known for this one."""
    if "{key}" not in resolve_repository(view, name)["key"]:
        return None
    system = view[OS]
    hint = Prose("no repository for this system is known; gpu.driver.mode: none leaves the driver to you")
    known_for = format_value(sorted(build_apt_repositories(view.spec)[name]["by_system"]))
    found_for = f"none for {system.id}{system.version.replace('.', '')}"
    return Result(f"apt repository {name}", f"one for {known_for}", found_for, "operator", hint=hint)


def build_repository(view: View, name: str) -> Repository:
    """Build the expected repository of this host."""
    place = resolve_repository(view, name)
    keyring = f"/etc/apt/keyrings/gpustack-{name}.gpg"
    return Repository(place["uri"], place["suite"], place["components"], keyring, (place["fingerprint"],))


def find_foreign_sources(view: View, name: str, repository: Repository) -> list[Source]:
    """Find sources for the same address in other files, with any suite."""
    managed_file, arch = f"sources.list.d/gpustack-{name}.sources", view[OS].arch
    foreign_sources = (candidate for candidate in view[SOURCES].sources if candidate.file != managed_file)
    return [
        source
        for source in foreign_sources
        if parse_address(source.uri.replace("$(ARCH)", arch)) == parse_address(repository.uri)
    ]


def parse_address(uri: str) -> str:
    return uri.rpartition("://")[2].rstrip("/")


def describe_flaw(view: View, source: Source, repository: Repository) -> str:
    """Describe why a source from another file cannot replace gpustack's; an empty text where it can. Raise ValueError
    where that is unknown."""
    ring = view[SOURCES].keyrings.get(source.key)
    if ring and ring.fingerprints is None:
        raise ValueError(f"no gpg to read {source.key}")
    if repository.suite not in source.suites.split():
        return f"suite {format_value(source.suites)}"
    if repository.components and repository.components not in source.components.split():
        return f"components {format_value(source.components)}"
    if source.uri.partition("://")[0] != repository.uri.partition("://")[0]:
        return source.uri
    if not ring or ring.fingerprints != repository.fingerprints:
        return f"key {format_value(ring.fingerprints) if ring and ring.fingerprints else format_value(source.key)}"
    if ring.expires_at and ring.expires_at <= view.started_at:
        return f"its key expired on {ring.expires_at:%Y-%m-%d}"
    return ""


def build_source_mismatch(view: View, repository: Repository, unfit: list[tuple[Source, str]]) -> Result:
    actual = format_value([f"/etc/apt/{source.file} ({flaw})" for source, flaw in unfit])
    hints = dict.fromkeys(advise_source_change(view, source) for source, _ in unfit)
    hint = join_hints(*hints, note="install writes a source of its own")
    expected = f"none, or with only the key {repository.fingerprints[0]}"
    return Result(f"other sources of {repository.uri}", expected, actual, "operator", hint=hint)


def advise_source_change(view: View, source: Source) -> Hint:
    """Advise how to remove a source. Removing a line from a deb822 file would leave an incomplete source, so that apt
    reads none: the whole file is moved away, unless it has other addresses."""
    uris = {parse_address(file_source.uri) for file_source in view[SOURCES].sources if file_source.file == source.file}
    if len(uris) == 1 and source.file != "sources.list":
        return Command("mv", f"/etc/apt/{source.file}", f"/etc/apt/{source.file}.disabled")
    if source.file.endswith(".sources"):
        return Prose("add the line `Enabled: no` to its stanza of {} in {}", source.uri, f"/etc/apt/{source.file}")
    return Prose("put # before its line of {} in {}", source.uri, f"/etc/apt/{source.file}")


def find_key_mismatch(view: View, name: str, repository: Repository) -> Result | None:
    """Find a key that has expired, or that its owner is known to have extended since."""
    ring = view[SOURCES].keyrings.get(repository.keyring)
    if not ring or not ring.expires_at:
        return None
    subject = f"key of apt repository {name}"
    if ring.expires_at <= view.started_at:
        return Result(subject, "valid", f"{repository.fingerprints[0]}, expired on {ring.expires_at:%Y-%m-%d}")
    new_end = find_key_expiry(view.spec, name)
    if new_end and ring.expires_at.date() < new_end:
        return Result(subject, f"valid until {new_end}", f"valid until {ring.expires_at:%Y-%m-%d}")
    return None


def find_usable_sources(view: View) -> Mapping[str, str]:
    """Find the repositories of gpustack that another file already configures, with that file. Return none where that is
    unknown: then the role reports the conflict."""
    files = {}
    for name in build_apt_repositories(view.spec):
        with suppress(FactUnavailable, ValueError):
            repository = build_repository(view, name)
            foreign_sources = find_foreign_sources(view, name, repository)
            if foreign_sources and not any(describe_flaw(view, source, repository) for source in foreign_sources):
                files[name] = f"/etc/apt/{foreign_sources[0].file}"
    return files


def fill_placeholders(text: str, replacements: Mapping[str, str]) -> str:
    for word, value in replacements.items():
        text = text.replace(word, value)
    return text


def list_differences(expected_repository: Repository, actual_repository: Repository) -> Iterator[str]:
    for key in ("uri", "suite", "components", "keyring", "fingerprints"):
        if (value := getattr(actual_repository, key)) != getattr(expected_repository, key):
            yield f"{key} {format_value(value)}"
