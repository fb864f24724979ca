"""Roles are filled in with the source of a file, and its checksum."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.resolution import build_download
from gpustack.config.spec import Spec
from gpustack.config.versions import KNOWN_SETS, VERSIONS, Artefact, parse_artefact, read_version_set

MIRRORED_SPEC = Spec.model_validate({"source": {"mirror": "http://10.0.0.5:8480", "fingerprint": "A" * 40}})
HELM = Artefact("4.3.0", "https://get.helm.sh/helm-v4.3.0-linux-{arch}.tar.gz", {"amd64": "a" * 64, "arm64": "b" * 64})


def test_from_the_publisher_it_must_be_what_the_version_set_says() -> None:
    assert build_download(Spec(), HELM) == {"version": "4.3.0", "url": HELM.url, "sha256": HELM.sha256}


def test_from_a_mirror_it_must_be_what_the_mirror_signs() -> None:
    assert build_download(MIRRORED_SPEC, HELM) == {
        "version": "4.3.0",
        "url": "http://10.0.0.5:8480/get.helm.sh/helm-v4.3.0-linux-{arch}.tar.gz",
        "sha256": {"amd64": "signed", "arm64": "signed"},
    }


@pytest.mark.parametrize(
    ("entry", "sums"),
    [
        ({"version": "1.2", "url": "https://a/v{version}/x-{version}.tgz", "sha256": "c" * 64}, {"all": "c" * 64}),
        ({"version": 1.2, "url": "https://a/v1.2/x-1.2.tgz", "sha256": {"amd64": 5}}, {"amd64": "5"}),
    ],
)
def test_an_artefact_has_its_version_in_its_address_and_sums_by_architecture(
    entry: dict[str, Any], sums: dict[str, str]
) -> None:
    assert parse_artefact(entry) == Artefact("1.2", "https://a/v1.2/x-1.2.tgz", sums)


def test_the_version_of_a_component_wins() -> None:
    assert parse_artefact({"url": "https://a/{version}", "sha256": "d" * 64}, "3.0").url == "https://a/3.0"


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_every_artefact_of_a_version_set_is_pinned(name: str) -> None:
    version_set = read_version_set(name)
    for artefact in (version_set.helm, version_set.provisioner, *version_set.charts.values()):
        assert "{version}" not in artefact.url
        assert artefact.version.removeprefix("v") in artefact.url
        assert artefact.url.startswith("https://")
        assert artefact.sha256
        assert {re.fullmatch(r"[0-9a-f]{64}", text) is not None for text in artefact.sha256.values()} == {True}
        assert ("{arch}" in artefact.url) == ("all" not in artefact.sha256)
    document = yaml.safe_load((Path(VERSIONS) / f"{name}.yaml").read_text())
    assert set(version_set.charts) == set(document["charts"])
    assert version_set.helm.version == version_set.components["helm"]


def test_an_artefact_says_all_that_roles_need() -> None:
    assert {field.name for field in fields(Artefact)} == set(build_download(Spec(), HELM))
