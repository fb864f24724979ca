"""SHA256SUMS of the single files of a bundle, signed: the mirror's key proves any of them.

Its first line says whether simulated software is served, and IMAGES is among the files: so the signature covers both.
Packages have a proof of their own, since their repositories are signed.
"""

from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle.manifest import Image
from gpustack.config.images import render_image_list
from gpustack_lab.bundle import signing
from gpustack_lab.bundle.cache import Part, digest
from gpustack_lab.bundle.signing import Signer

FILE = "SHA256SUMS"
IMAGES = "IMAGES"
FIRST_LINE = "# simulated: yes\n"
"""A mirror of the vendors' own software says no."""


def declare_part(files: Mapping[str, str], signer: Signer) -> Part:
    """Declare the part with SHA256SUMS, as sha256sum reads it, and SHA256SUMS.asc. `files` are sha256 by path below
    `files/`."""
    text = FIRST_LINE + "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(files.items()))
    return Part(
        "checksums",
        digest(text, signer.fingerprint, Path(__file__)),
        lambda output_dir: _write(text, signer, output_dir),
    )


def _write(text: str, signer: Signer, output_dir: Path) -> None:
    (output_dir / FILE).write_text(text)
    signing.sign(signer, output_dir / FILE)


def declare_image_list(images: list[Image]) -> Part:
    """Declare the part with IMAGES: a line `REFERENCE DIGEST` for each image, as containerd names both, and a last one
    with their number."""
    text = render_image_list({image.reference: image.digest for image in images})
    return Part("image-list", digest(text), lambda output_dir: _write_images(text, output_dir))


def _write_images(text: str, output_dir: Path) -> None:
    (output_dir / IMAGES).write_text(text)
