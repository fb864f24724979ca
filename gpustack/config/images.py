"""The digests that images must have on a host.

A host has a list of them, and a program that containerd asks before it pulls an image.
"""

import hashlib
from collections.abc import Mapping
from functools import cache

from gpustack.config.resources import locate_playbooks
from gpustack.config.spec import Mirror, Spec
from gpustack.config.versions import read_version_set

LIST = "/etc/gpustack-cluster/images"
VERIFIERS = "/opt/containerd/image-verifier/bin"  # where containerd looks, by its docs/image-verification.md
VERIFIER = f"{VERIFIERS}/gpustack"


def render_pinned_images(spec: Spec) -> str:
    """Render the list of what the version set pins. It is empty with a mirror, which signs a list of its own."""
    return "" if isinstance(spec.source, Mirror) else render_image_list(read_version_set(spec.versions).images)


def render_image_list(digests: Mapping[str, str]) -> str:
    """Render lines `REFERENCE DIGEST`, and a last one with their number, which tells a list that is cut off from one
    that lacks an image."""
    lines = [f"{name} {digest}\n" for name, digest in sorted(digests.items())]
    return "".join((*lines, f"# end {len(lines)}\n"))


def compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def compute_verifier_digest() -> str:
    """Compute the SHA-256 of the program as the role installs it."""
    return compute_digest((locate_playbooks() / "roles" / "containerd" / "files" / "image-verifier.sh").read_text())
