"""What a bundle needs to know of a version set (gpustack/versions/<set>.yaml)."""

from dataclasses import dataclass
from typing import Any

import yaml

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
        entry = self.raw["components"]["distribution" if tool == "mirror" else tool]
        return str(entry.get("module", entry["version"]))

    def origin(self, component: str) -> str:
        return str(self.raw["components"][component]["origin"])

    def licence(self, component: str) -> str:
        return str(self.raw["components"][component]["licence"])


def load(name: str = NEWEST) -> Versions:
    raw = yaml.safe_load((VERSIONS / f"{name}.yaml").read_text())
    return Versions(set=raw["set"], raw=raw)
