"""Proof that a bundle is what its builder signed: every file, no more and no fewer, and the manifest itself."""

from pathlib import Path

from gpustack.bundle import keys, manifest
from gpustack.bundle.cache import sha256
from gpustack.bundle.manifest import Manifest
from gpustack.bundle.programs import need
from gpustack.command import Command
from gpustack.errors import BundleError

NOT_LISTED = {manifest.FILE, manifest.SIGNATURE}


def verify(directory: Path, *, fingerprint: str | None = None) -> Manifest:
    """The manifest of a good bundle. `fingerprint` is of the key that must have signed it; without one, it must be this
    user's own mirror key. Raises BundleError that lists everything wrong. Needs no network."""
    need("gpg", "gpgv")
    expected = _expected(directory, fingerprint)
    found = _signer(directory)
    if found != expected:
        raise BundleError(
            "bundle-key-unexpected",
            f"the bundle {directory} is signed by another key",
            f"signed by {found}\nexpected  {expected}",
            Command("gpustack", "bundle", "verify", str(directory), "--fingerprint", "FINGERPRINT"),
        )
    try:
        loaded = manifest.load(directory)
    except (OSError, ValueError) as error:
        raise BundleError("bundle-damaged", f"{manifest.FILE} cannot be read", str(error)) from error
    wrong = differences(directory, loaded)
    if wrong:
        raise BundleError(
            "bundle-damaged",
            f"the bundle {directory} is not as it was signed: {len(wrong)} file(s)",
            "\n".join(wrong),
            Command("gpustack", "bundle", "build", "--from", str(loaded.source), str(directory)),
        )
    return loaded


def fingerprint(directory: Path) -> str:
    """Of the key that signed the bundle, as `source: {mirror: …, fingerprint: …}` of an inventory wants it.

    It says who signed, not that the files are good. Raises BundleError if no key did.
    """
    need("gpg", "gpgv")
    return _signer(directory)


def _signer(directory: Path) -> str:
    missing = [name for name in (manifest.FILE, manifest.SIGNATURE, manifest.KEY) if not (directory / name).is_file()]
    if missing:
        raise BundleError(
            "bundle-absent",
            f"{directory} is no complete bundle",
            f"missing: {', '.join(missing)}",
            Command("gpustack", "bundle", "build", "--from", "modules", str(directory)),
        )
    return keys.signed_by(directory / manifest.KEY, directory / manifest.SIGNATURE, directory / manifest.FILE)


def differences(directory: Path, listed: Manifest) -> list[str]:
    """One line for each file that is changed, missing or extra; links and devices count as extra."""
    entries = {entry.path: entry for entry in listed.files}
    there = {
        str(path.relative_to(directory)): path
        for path in directory.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    wrong = []
    for path in sorted(entries.keys() | there.keys() - NOT_LISTED):
        if path not in there:
            wrong.append(f"missing  {path}")
        elif path not in entries or there[path].is_symlink() or not there[path].is_file():
            wrong.append(f"extra    {path}")
        elif there[path].stat().st_size != entries[path].size or sha256(there[path]) != entries[path].sha256:
            wrong.append(f"changed  {path}")
    return wrong


def _expected(directory: Path, fingerprint: str | None) -> str:
    if fingerprint is not None:
        return fingerprint.replace(" ", "").upper()
    own = keys.own_fingerprint(keys.home())
    if own is None:
        raise BundleError(
            "bundle-key-unknown",
            "which key must have signed the bundle is not known",
            "this user has no mirror key, so the bundle was built elsewhere: its builder has the fingerprint",
            Command("gpustack", "bundle", "verify", str(directory), "--fingerprint", "FINGERPRINT"),
        )
    return own
