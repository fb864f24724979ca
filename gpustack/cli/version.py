"""`version`: that of gpustack, and of what it installs."""

import sys


def version() -> None:
    """Print the versions of gpustack and of what it installs."""
    from importlib.metadata import version as of

    from gpustack.config.versions import KNOWN_SETS, version_set

    chosen = version_set(KNOWN_SETS[-1])
    components = ", ".join(f"{name} {chosen.components[name]}" for name in ("kubernetes", "containerd", "flannel"))
    sys.stdout.write(f"gpustack {of('gpustack-cluster')} (version set {chosen.name}: {components})\n")
