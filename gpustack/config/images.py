"""Which digests images must have on a host: a list there, and a program that containerd asks before it pulls one."""

import hashlib
from collections.abc import Mapping
from functools import cache

from gpustack.config.resources import playbooks
from gpustack.config.spec import Mirror, Spec
from gpustack.config.versions import version_set

LIST = "/etc/gpustack-cluster/images"
VERIFIERS = "/opt/containerd/image-verifier/bin"  # where containerd looks, by its docs/image-verification.md
VERIFIER = f"{VERIFIERS}/gpustack"


def image_list(spec: Spec) -> str:
    """Return the list of what the version set pins; empty with a mirror, which signs a list of its own."""
    return "" if isinstance(spec.source, Mirror) else write_list(version_set(spec.versions).images)


def write_list(digests: Mapping[str, str]) -> str:
    """Return lines `REFERENCE DIGEST`, and a last one that says how many there are: a list that is cut off is told from
    one that lacks an image."""
    lines = [f"{name} {digest}\n" for name, digest in sorted(digests.items())]
    return "".join((*lines, f"# end {len(lines)}\n"))


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def verifier_digest() -> str:
    """SHA-256 of the program as the role installs it."""
    return text_digest((playbooks() / "roles" / "containerd" / "files" / "image-verifier.sh").read_text())
