"""What a bundle needs to know of a version set (gpustack/versions/<set>.yaml)."""

from dataclasses import dataclass
from typing import Any

import yaml

from gpustack.config.served import product_version
from gpustack.config.versions import KNOWN_SETS, VERSIONS

NEWEST = KNOWN_SETS[-1]


@dataclass(frozen=True)
class Versions:
    """The version set as read; versions are without a leading v."""

    set: str
    raw: dict[str, Any]

    def __getitem__(self, component: str) -> str:
        return str(self.raw["components"][component]["version"])

    def module(self, tool: str) -> str:
        """The version of the Go module a tool is built from; the mirror is built from CNCF distribution."""
        return str(self._component(tool).get("module", self.release(tool)))

    def release(self, tool: str) -> str:
        """The version that a tool has in the version set, and says of itself."""
        return str(self._component(tool)["version"])

    def _component(self, tool: str) -> dict[str, Any]:
        entry: dict[str, Any] = self.raw["components"]["distribution" if tool == "mirror" else tool]
        return entry

    def chart(self, name: str) -> str:
        """Official address of a chart."""
        entry = self.raw["charts"][name]
        return str(entry["url"]).replace("{version}", str(entry["version"]))

    def manifest(self, component: str) -> str:
        """Official address of a component's manifest."""
        return str(self.raw["manifests"][component]["url"]).replace("{version}", self[component])

    def origin(self, component: str) -> str:
        return str(self.raw["components"][component]["origin"])

    def licence(self, component: str) -> str:
        return str(self.raw["components"][component]["licence"])


def load(name: str = NEWEST) -> Versions:
    """With gpustack itself, which is no choice of a version set."""
    raw = yaml.safe_load((VERSIONS / f"{name}.yaml").read_text())
    raw["components"]["gpustack"] = {"version": product_version(), "origin": "gpustack", "licence": "Apache-2.0"}
    return Versions(set=raw["set"], raw=raw)
