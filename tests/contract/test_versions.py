"""The version sets: a checksum and its address are of the same file."""

from typing import Any

import pytest
import yaml

from gpustack.config.versions import KNOWN_SETS, VERSIONS

RAW: dict[str, dict[str, Any]] = {name: yaml.safe_load((VERSIONS / f"{name}.yaml").read_text()) for name in KNOWN_SETS}


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_a_manifest_is_fetched_as_the_file_that_its_checksum_is_of(name: str) -> None:
    """`sha256` is of `file` in that version of the Go module. A release asset of the same name may be made otherwise,
    as Flannel's is (`make release-manifest`)."""
    for component, manifest in RAW[name]["manifests"].items():
        of = RAW[name]["components"][component]
        repository = of["origin"].removeprefix("github.com/")
        place = f"https://raw.githubusercontent.com/{repository}/v{of['version']}/{manifest['file']}"
        assert manifest["url"].replace("{version}", of["version"]) == place
