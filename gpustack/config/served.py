"""What `gpustack serve` is in a cluster: its port, and its image."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpustack.config.spec import Spec

PORT = 9460
# Only a mirror has it. The name is one that nobody else can publish: docker.io/library is for Docker's own.
BUNDLED = "docker.io/library/gpustack"


def product_version() -> str:
    from importlib.metadata import version

    return version("gpustack-cluster")


def bundled_image() -> str:
    """What a bundle calls it. It is published nowhere."""
    return f"{BUNDLED}:{product_version()}"


def image_of(spec: "Spec") -> str:
    """The image of the spec; without one, that of a bundle. Empty where neither is there."""
    bundle = spec.source != "official" and spec.source.purpose == "lab"
    return spec.serve.image or (bundled_image() if bundle else "")
