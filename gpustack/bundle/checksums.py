"""SHA256SUMS over the single files of a bundle, signed: whoever has the mirror's key can prove any of them.

Packages and images have proofs of their own: the apt repositories are signed, images are named by their digests.
"""

from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle import keys
from gpustack.bundle.cache import Part, digest
from gpustack.bundle.keys import Signer

FILE = "SHA256SUMS"


def part(files: Mapping[str, str], signer: Signer) -> Part:
    """`files` are sha256 by path below `files/`. out/: SHA256SUMS, as sha256sum writes it, and SHA256SUMS.asc."""
    text = "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(files.items()))
    return Part("checksums", digest(text, signer.fingerprint, Path(__file__)), lambda out: _write(text, signer, out))


def _write(text: str, signer: Signer, out: Path) -> None:
    (out / FILE).write_text(text)
    keys.sign(signer, out / FILE)
