"""Proof that a bundle is as its builder signed it: every file, no more and no fewer, and the manifest itself."""

from pathlib import Path

from gpustack.bundle import keys, manifest
from gpustack.bundle.manifest import Manifest, hash_file
from gpustack.bundle.programs import PACKAGES, need
from gpustack.command import Command
from gpustack.errors import BundleError

NOT_LISTED = {manifest.FILE, manifest.SIGNATURE}


def verify(directory: Path, *, fingerprint: str | None = None) -> Manifest:
    """Return the manifest of a good bundle. `fingerprint` is of the key that must have signed it; without one, it must
    be this user's own mirror key. Raise BundleError that lists everything wrong. The network is not needed."""
    need(PACKAGES)
    expected = _select_signer(directory, fingerprint)
    actual = _read_signer(directory)
    if actual != expected:
        raise BundleError(
            "bundle-key-unexpected",
            f"the bundle {directory} is signed by another key",
            f"signed by {actual}\nexpected  {expected}",
            Command("gpustack", "bundle", "verify", str(directory), "--fingerprint", "FINGERPRINT"),
        )
    try:
        signed_manifest = manifest.load(directory)
    except (OSError, ValueError) as error:
        raise BundleError(
            "bundle-damaged",
            f"{manifest.FILE} cannot be read",
            str(error),
            Command("gpustack", "bundle", "build", "--from", "modules", str(directory)),
        ) from error
    wrong = find_differences(directory, signed_manifest)
    if wrong:
        raise BundleError(
            "bundle-damaged",
            f"the bundle {directory} is not as it was signed: {len(wrong)} file(s)",
            "\n".join(wrong),
            Command("gpustack", "bundle", "build", "--from", str(signed_manifest.source), str(directory)),
        )
    return signed_manifest


def read_fingerprint(directory: Path) -> str:
    """Return the fingerprint of the key that signed the bundle, for `source: {mirror: …, fingerprint: …}` of an
    inventory.

    It says who signed, not that the files are good. Raise BundleError if no key did.
    """
    need(PACKAGES)
    return _read_signer(directory)


def _read_signer(directory: Path) -> str:
    missing = [name for name in (manifest.FILE, manifest.SIGNATURE, manifest.KEY) if not (directory / name).is_file()]
    if missing:
        raise BundleError(
            "bundle-absent",
            f"{directory} is no complete bundle",
            f"missing: {', '.join(missing)}",
            Command("gpustack", "bundle", "build", "--from", "modules", str(directory)),
        )
    return keys.verify_signature(directory / manifest.KEY, directory / manifest.SIGNATURE, directory / manifest.FILE)


def find_differences(directory: Path, signed_manifest: Manifest) -> list[str]:
    """Return one line for each file that is changed, missing or extra. Links and devices count as extra."""
    entries = {entry.path: entry for entry in signed_manifest.files}
    paths = {
        str(path.relative_to(directory)): path
        for path in directory.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    wrong = []
    for path in sorted(entries.keys() | paths.keys() - NOT_LISTED):
        if path not in paths:
            wrong.append(f"missing  {path}")
        elif path not in entries or paths[path].is_symlink() or not paths[path].is_file():
            wrong.append(f"extra    {path}")
        elif paths[path].stat().st_size != entries[path].size or hash_file(paths[path]) != entries[path].sha256:
            wrong.append(f"changed  {path}")
    return wrong


def _select_signer(directory: Path, fingerprint: str | None) -> str:
    if fingerprint is not None:
        return fingerprint.replace(" ", "").upper()
    own_fingerprint = keys.find_own_fingerprint(keys.locate_key_dir())
    if own_fingerprint is None:
        raise BundleError(
            "bundle-key-unknown",
            "which key must have signed the bundle is not known",
            "this user has no mirror key, so the bundle was built elsewhere: its builder has the fingerprint",
            Command("gpustack", "bundle", "verify", str(directory), "--fingerprint", "FINGERPRINT"),
        )
    return own_fingerprint
