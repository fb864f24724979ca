"""The version sets: a checksum and its address are of the same file, and everything says where it was seen."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.versions import KNOWN_SETS, VERSIONS, read_version_set
from gpustack.steps.gpu.mode import LIBRARIES, MODULES

ROOT = Path(__file__).parents[2]
RAW: dict[str, dict[str, Any]] = {name: yaml.safe_load((VERSIONS / f"{name}.yaml").read_text()) for name in KNOWN_SETS}


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_a_manifest_is_fetched_as_the_file_that_its_checksum_is_of(name: str) -> None:
    """`sha256` is of `file` in that version of the Go module. A release asset of the same name may be made otherwise,
    as Flannel's is (`make release-manifest`)."""
    for component, manifest in RAW[name]["manifests"].items():
        source_entry = RAW[name]["components"][component]
        repository = source_entry["origin"].removeprefix("github.com/")
        place = f"https://raw.githubusercontent.com/{repository}/v{source_entry['version']}/{manifest['file']}"
        assert manifest["url"].replace("{version}", source_entry["version"]) == place


# Facts that came from outside, wherever they stand in a version set.
FACTS = ("version", "uri", "key", "keys", "fingerprint", "expires", "url", "sha256", "maintenance", "end", "first")
# `images` has its sources in comments; `source` and `licence` of a component are where to look, and no pins.
WITHOUT_SOURCE = ("set", "images")


def list_entries(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for section, section_entries in RAW[name].items():
        if section not in WITHOUT_SOURCE:
            yield from ((f"{section}.{key}", entry) for key, entry in section_entries.items())


def list_facts(entry: dict[str, Any]) -> set[str]:
    """List the facts of an entry. A value that is filled in per host is no fact."""
    return {fact for fact in FACTS if fact in entry and not re.fullmatch(r"\{\w+\}", str(entry[fact]))}


def list_unproven(name: str) -> dict[str, str]:
    """List what there is to look at, by entry and fact."""
    fingerprints = {}
    for place, entry in list_entries(name):
        value = entry["seen"]
        for fact, words in (value if isinstance(value, dict) else {"": value}).items():
            if str(words).startswith("unproven: "):
                fingerprints[f"{place}.{fact}".rstrip(".")] = words.removeprefix("unproven: ")
    return fingerprints


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_every_fact_has_its_source_and_date_or_is_unproven(name: str) -> None:
    assert [place for place, entry in list_entries(name) if "seen" not in entry] == []
    for place, entry in list_entries(name):
        value = entry["seen"]
        words = list(value.values()) if isinstance(value, dict) else [value]
        assert all(re.match(r"(20\d\d-\d\d-\d\d|unproven:) \S", str(text)) for text in words), (place, words)
        assert not isinstance(value, dict) or set(value) == list_facts(entry), place
        assert list_facts(entry), place


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_every_component_says_when_it_was_reviewed_and_with_what(name: str) -> None:
    reviews = {key: str(entry.get("reviewed", "")) for key, entry in RAW[name]["components"].items()}
    assert {key: text for key, text in reviews.items() if not re.match(r"(20\d\d-\d\d-\d\d|pending:) \S", text)} == {}
    assert [key for key, text in reviews.items() if text.startswith("pending")] == [], (
        "review them before the set is used"
    )


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_what_is_unproven_stands_in_the_document(name: str) -> None:
    table = (ROOT / "docs" / "systems.md").read_text().partition("## What is unproven")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"(?m)^\| `([\w.-]+)` \| (.+?) \|$", table))
    assert list_unproven(name)
    assert rows == list_unproven(name)


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_addresses_have_the_version_that_is_pinned(name: str) -> None:
    """A checksum of one version under the address of another would be another file."""
    for section in ("manifests", "programs", "charts"):
        for key, entry in RAW[name][section].items():
            assert "{version}" in entry["url"], key
            sums = entry["sha256"] if isinstance(entry["sha256"], dict) else {"all": entry["sha256"]}
            assert all(re.fullmatch("[0-9a-f]{64}", text) for text in sums.values()), key
            assert ("{arch}" in entry["url"]) == ("all" not in sums), key


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_keys_are_named_by_their_whole_fingerprint(name: str) -> None:
    """A short id is that of other keys too."""
    for source in read_version_set(name).apt.values():
        expected_fingerprints = [key["fingerprint"] for key in source.keys.values()] or [source.fingerprint]
        assert [
            fingerprint for fingerprint in expected_fingerprints if not re.fullmatch("[0-9A-F]{40}", fingerprint)
        ] == []


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_packages_come_from_repositories_of_the_set_at_versions_of_it(name: str) -> None:
    for package, entry in RAW[name]["debs"].items():
        assert entry["apt"] in RAW[name]["apt"], package
        assert set(entry.get("systems", ())) <= set(RAW[name]["apt"]["nvidia"]["keys"]), package
        component = re.fullmatch(r"\{([\w-]+)\}-\*|[\d.]+[.-]\*", entry["version"])
        assert component, package
        assert component[1] is None or component[1] in RAW[name]["components"], package


def test_the_driver_s_packages_are_those_of_the_step() -> None:
    """The packages are compared with those that step gpu-driver names by default, by system."""
    named_libraries = {(system, name) for system, name in LIBRARIES.items()} | {
        (system, kinds["open"]) for system, kinds in MODULES.items()
    }
    for name in KNOWN_SETS:
        nvidia = {
            key: entry["systems"]
            for key, entry in RAW[name]["debs"].items()
            if entry["apt"] == "nvidia" and "systems" in entry
        }
        named_systems = {(re.sub(r"\d", "", system), key) for key, systems in nvidia.items() for system in systems}
        assert named_libraries <= named_systems
