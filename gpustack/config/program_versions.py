"""The versions of gpustack itself, of what it installs, and of the programs that run it."""

from dataclasses import dataclass
from importlib.metadata import version
from platform import python_version

from gpustack.config.versions import KNOWN_SETS, read_version_set

SHOWN_COMPONENTS = ("kubernetes", "containerd", "flannel")


@dataclass(frozen=True)
class ProgramVersions:
    """Hold the versions. `components` are those of the newest version set, which an inventory has by default."""

    gpustack: str
    version_set: str
    components: dict[str, str]
    python: str
    ansible_core: str


def read_program_versions() -> ProgramVersions:
    newest_set = read_version_set(KNOWN_SETS[-1])
    return ProgramVersions(
        version("gpustack-cluster"), newest_set.name, newest_set.components, python_version(), version("ansible-core")
    )


def list_lines(versions: ProgramVersions) -> tuple[str, str, str]:
    """List the lines for people. `gpustack --version` prints them without the modules that draw results."""
    components = ", ".join(f"{name} {versions.components[name]}" for name in SHOWN_COMPONENTS)
    return (
        f"gpustack {versions.gpustack}",
        f"version set {versions.version_set}: {components}",
        f"Python {versions.python}, ansible-core {versions.ansible_core}",
    )
