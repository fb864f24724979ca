"""The parts of a version set (gpustack/versions/<set>.yaml) that a bundle needs."""

from dataclasses import dataclass
from typing import Any

import yaml

from gpustack.config.serve_image import read_product_version
from gpustack.config.versions import KNOWN_SETS, VERSIONS

NEWEST = KNOWN_SETS[-1]


@dataclass(frozen=True)
class Versions:
    """Hold a version set as it was read. Versions are without a leading v."""

    set: str
    raw: dict[str, Any]

    def __getitem__(self, component: str) -> str:
        return str(self.raw["components"][component]["version"])

    def select_module_version(self, tool: str) -> str:
        """Select the version of the Go module a tool is built from. The mirror is built from CNCF distribution."""
        return str(self._select_component(tool).get("module", self.select_release_version(tool)))

    def select_release_version(self, tool: str) -> str:
        """Return the version of a tool in the version set; the tool must print the same one."""
        return str(self._select_component(tool)["version"])

    def _select_component(self, tool: str) -> dict[str, Any]:
        entry: dict[str, Any] = self.raw["components"]["distribution" if tool == "mirror" else tool]
        return entry

    def build_chart_url(self, name: str) -> str:
        """Build the official address of a chart."""
        entry = self.raw["charts"][name]
        return str(entry["url"]).replace("{version}", str(entry["version"]))

    def build_manifest_url(self, component: str) -> str:
        """Build the official address of a component's manifest."""
        return str(self.raw["manifests"][component]["url"]).replace("{version}", self[component])

    def select_origin(self, component: str) -> str:
        return str(self.raw["components"][component]["origin"])

    def select_licence(self, component: str) -> str:
        return str(self.raw["components"][component]["licence"])


def load(name: str = NEWEST) -> Versions:
    """Load a version set, and add gpustack itself, which no version set chooses."""
    raw = yaml.safe_load((VERSIONS / f"{name}.yaml").read_text())
    raw["components"]["gpustack"] = {"version": read_product_version(), "origin": "gpustack", "licence": "Apache-2.0"}
    return Versions(set=raw["set"], raw=raw)
