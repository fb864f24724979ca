"""The list of files, keys, packages and images that `scripts/upstream` asks the vendors for, from a version set. Each
is one line, in the order of the set."""

from collections.abc import Iterator
from typing import Any

import yaml

from gpustack.config.versions import KNOWN_SETS, VERSIONS

HEAD = "# Written by `make values` out of gpustack/versions/{name}.yaml: what scripts/upstream asks for.\n"
# By {os}{release}: what else repositories call a system.
CODENAMES = {
    "debian12": ("debian", "bookworm"), "debian13": ("debian", "trixie"), "ubuntu2204": ("ubuntu", "jammy"),
    "ubuntu2404": ("ubuntu", "noble"), "ubuntu2604": ("ubuntu", "resolute"),
}  # fmt: skip
# apt 3 verifies with sqv, whose policy takes neither signatures of version 3 nor keys bound by SHA-1 since 2026-02-01:
# Debian 13 (kubernetes/release issue 3869, openSUSE/software-o-o 1723). Ubuntu 26.04 has apt 3.1.16 as Debian has it.
SQV = ("debian13", "ubuntu2604")
PLATFORMS = {"amd64": "x86_64", "arm64": "sbsa"}


def render_list(name: str = KNOWN_SETS[-1]) -> str:
    data = yaml.safe_load((VERSIONS / f"{name}.yaml").read_text())
    lines = [*list_files(data), *list_repositories(data), *list_packages(data), *list_images(data)]
    return HEAD.format(name=name) + "".join(f"{line}\n" for line in dict.fromkeys(lines))


def list_files(data: dict[str, Any]) -> Iterator[str]:
    for section in ("manifests", "programs", "charts"):
        for key, entry in data[section].items():
            version = str(entry.get("version") or data["components"][key]["version"])
            sums = entry["sha256"] if isinstance(entry["sha256"], dict) else {"": entry["sha256"]}
            for arch, digest in sums.items():
                yield f"file {digest} {entry['url'].replace('{version}', version).replace('{arch}', arch)}"


def list_repositories(data: dict[str, Any]) -> Iterator[str]:
    """List the keys of repositories, and signatures that sqv must take on a system that has it."""
    places = [place for name in data["apt"] for place in list_places(data, name, tuple(data["kubernetes_support"]))]
    strict = {place["key"] for place in places if place["system"] in SQV}
    for place in places:
        yield f"key {place['fingerprint']} {'sqv' if place['key'] in strict else '-'} {place['key']}"
    for place in places:
        if place["system"] in SQV:
            yield f"signature {place['base']}{place['release']}"


def list_packages(data: dict[str, Any]) -> Iterator[str]:
    versions = {f"{{{key}}}": str(entry["version"]) for key, entry in data["components"].items()}
    minor = versions["{kubernetes}"].rpartition(".")[0]
    for package, entry in data["debs"].items():
        kind = "deb" if entry.get("installed", True) else "deb-asked"
        pattern = fill_words(entry["version"], versions)
        for place in list_places(data, entry["apt"], (minor,)):
            if place["system"] in entry.get("systems", (place["system"],)):
                yield f"{kind} {package} {pattern} {place['arch']} {place['base']} {place['index']}"


def list_images(data: dict[str, Any]) -> Iterator[str]:
    yield from (f"image {name} {digest}" for name, digest in data.get("images", {}).items())


def list_places(data: dict[str, Any], name: str, minors: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """List the addresses of a repository by system and architecture."""
    source = data["apt"][name]
    for minor in minors:
        for system, (family, codename) in CODENAMES.items():
            for arch, platform in PLATFORMS.items():
                words = {"{minor}": minor, "{os}{release}": system, "{os}": family, "{codename}": codename}
                words |= {"{arch}": arch, "{platform}": platform}
                words |= {f"{{{key}}}": text for key, text in source.get("keys", {}).get(system, {}).items()}
                place = {key: fill_words(str(source[key]), words) for key in ("uri", "suite", "key", "fingerprint")}
                suite_path = "" if place["suite"] == "/" else f"dists/{place['suite']}/"
                index = f"{suite_path}{source['components']}/binary-{arch}/Packages" if suite_path else "Packages"
                yield {
                    **place,
                    "base": place["uri"].rstrip("/") + "/",
                    "release": f"{suite_path}InRelease",
                    "index": index,
                    "system": system,
                    "arch": arch,
                }


def fill_words(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text
