"""Judges an apt repository of ours; the steps containerd, kubernetes, gpu-driver and gpu-runtime have one
each."""

from collections.abc import Mapping

from gpustack.ask.judge import Mismatch, said
from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.config.resolved import apt_of
from gpustack.probes.packages import REPOSITORIES, Repositories, Repository
from gpustack.probes.system import OS

# What NVIDIA calls a server of this architecture.
PLATFORMS = {"amd64": "x86_64", "arm64": "sbsa"}


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


def repository_mismatch(here: View, name: str, probe: Probe[Repositories] = REPOSITORIES) -> Mismatch | None:
    """None when apt knows the repository as the spec says, with the expected key and no other."""
    place = placed(here, name)
    if "{key}" in place["key"]:
        system = here[OS]
        hint = "no repository for this system is known; gpu.driver.mode: none leaves the driver to you"
        known_for = said(sorted(apt_of(here.spec)[name]["by_system"]))
        found_for = f"none for {system.id}{system.version.replace('.', '')}"
        return Mismatch(f"apt repository {name}", f"one for {known_for}", found_for, "operator", hint=hint)
    keyring = f"/etc/apt/keyrings/gpustack-{name}.gpg"
    wanted = Repository(place["uri"], place["suite"], place["components"], keyring, (place["fingerprint"],))
    repositories = here[probe]
    if rivals := [line for line in repositories.others if place["uri"].rstrip("/") in line]:
        hint = "remove that line; gpustack keeps a file of its own"
        return Mismatch(f"other entries of {place['uri']}", "none", said(rivals), "operator", hint=hint)
    found = repositories.ours[name]
    if found == wanted:
        return None
    differing = "nothing" if found is None else differences(wanted, found)
    return Mismatch(f"apt repository {name}", f"{wanted.uri}, key {place['fingerprint']}", differing)


def filled(text: str, known: Mapping[str, str]) -> str:
    for word, value in known.items():
        text = text.replace(word, value)
    return text


def differences(wanted: Repository, found: Repository) -> str:
    pairs = [
        (key, getattr(found, key), getattr(wanted, key))
        for key in ("uri", "suite", "components", "keyring", "fingerprints")
    ]
    return ", ".join(f"{key} {said(value)}" for key, value, right in pairs if value != right)
