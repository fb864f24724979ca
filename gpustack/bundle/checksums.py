"""SHA256SUMS over the single files of a bundle, signed: whoever has the mirror's key can prove any of them.

Its first line says what the mirror is for, and IMAGES is among the files: so the signature covers both. Packages have a
proof of their own, their repositories are signed.
"""

from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle import keys
from gpustack.bundle.cache import Part, digest
from gpustack.bundle.keys import Signer
from gpustack.bundle.manifest import Image
from gpustack.config.images import write_list

FILE = "SHA256SUMS"
IMAGES = "IMAGES"
PURPOSE = "lab"
"""`lab` where stand-ins are among what is served, `production` where all is the vendors' own."""


def part(files: Mapping[str, str], signer: Signer) -> Part:
    """`files` are sha256 by path below `files/`. out/: SHA256SUMS, as sha256sum reads it, and SHA256SUMS.asc."""
    text = f"# purpose: {PURPOSE}\n" + "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(files.items()))
    return Part("checksums", digest(text, signer.fingerprint, Path(__file__)), lambda out: _write(text, signer, out))


def _write(text: str, signer: Signer, out: Path) -> None:
    (out / FILE).write_text(text)
    keys.sign(signer, out / FILE)


def images(served: list[Image]) -> Part:
    """Return the part out/IMAGES: a line `REFERENCE DIGEST` for each image, as containerd names both, and the last."""
    text = write_list({image.reference: image.digest for image in served})
    return Part("image-list", digest(text), lambda out: _write_images(text, out))


def _write_images(text: str, out: Path) -> None:
    (out / IMAGES).write_text(text)
