"""The port and the image of `gpustack serve` in a cluster."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpustack.config.spec import Spec

PORT = 9460
# Only a mirror has it. The name is one that nobody else can publish: docker.io/library is for Docker's own.
BUNDLED_IMAGE = "docker.io/library/gpustack"


def read_product_version() -> str:
    from importlib.metadata import version

    return version("gpustack-cluster")


def format_bundled_image() -> str:
    """Format the reference of the image in a bundle. It is published nowhere."""
    return f"{BUNDLED_IMAGE}:{read_product_version()}"


def select_image(spec: "Spec") -> str:
    """Select the image of the spec, else that of a bundle. Return an empty string where there is neither."""
    bundle = spec.source != "official" and spec.source.simulated == "allowed"
    return spec.serve.image or (format_bundled_image() if bundle else "")
