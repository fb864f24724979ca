"""The mirror's own signing key: made once per user, kept outside every bundle, and the public half inside each.

It signs the apt repositories and the manifest. It has no passphrase: it vouches for what this user built, on this user's
machine, and its directory is private.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from gpustack.bundle.programs import run
from gpustack.errors import BundleError

OWNER = "gpustack bundle mirror"


def home() -> Path:
    """Directory of the key, mode 0700."""
    return platformdirs.user_data_path("gpustack") / "mirror-key"


@contextmanager
def signing(directory: Path) -> Iterator[Path]:
    """The key's directory, with the key in it; ends gpg's agent afterwards, which would stay for ever."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chmod(directory, 0o700)
    try:
        if not _fingerprints(directory):
            # Ten years: a bundle on an offline site has nobody who renews a key.
            run(["gpg", "--homedir", directory, "-q", "--batch", "--pinentry-mode", "loopback", "--passphrase-fd", "0",
                 "--quick-generate-key", OWNER, "ed25519", "sign", "10y"], text="", limit=60)  # fmt: skip
        yield directory
    finally:
        run(["gpgconf", "--homedir", directory, "--kill", "gpg-agent"], limit=20)


def own_fingerprint(directory: Path) -> str | None:
    """40 hex digits, or None if this user has no key yet."""
    if not (directory / "pubring.kbx").is_file():
        return None
    found = _fingerprints(directory)
    return found[0] if found else None


def public(directory: Path) -> str:
    return run(["gpg", "--homedir", directory, "--batch", "--armor", "--export", _fingerprints(directory)[0]], limit=20)


def sign(directory: Path, file: Path) -> Path:
    """Writes the armoured detached signature FILE.asc."""
    signature = file.with_name(file.name + ".asc")
    run(["gpg", "--homedir", directory, "-q", "--batch", "--yes", "--armor", "-o", signature, "--detach-sign", file], limit=60)
    return signature


def clearsign(directory: Path, file: Path, into: Path) -> None:
    run(["gpg", "--homedir", directory, "-q", "--batch", "--yes", "-o", into, "--clearsign", file], limit=60)


def signer(key: Path, signature: Path, file: Path) -> str:
    """Fingerprint of the key in the file `key` that signed `file`. Raises BundleError if the signature is not good."""
    with tempfile.TemporaryDirectory(prefix="gpustack-") as scratch:
        ring = Path(scratch) / "key.gpg"
        run(["gpg", "--homedir", scratch, "-q", "--batch", "--yes", "-o", ring, "--dearmor", key], limit=20)
        try:
            told = run(["gpgv", "--homedir", scratch, "--status-fd", "1", "--keyring", ring, signature, file], limit=20)
        except BundleError as error:
            raise BundleError("bundle-signature-bad", f"the signature of {file.name} does not hold", error.why) from error
    for line in told.splitlines():
        words = line.split()
        if words[1:2] == ["VALIDSIG"]:
            return words[-1] if len(words) > 11 else words[2]
    raise BundleError("bundle-signature-bad", f"the signature of {file.name} does not hold", told.strip())


def _fingerprints(directory: Path) -> list[str]:
    listed = run(["gpg", "--homedir", directory, "--batch", "--with-colons", "--list-keys"], limit=20)
    lines = [line.split(":") for line in listed.splitlines()]
    return [after[9] for line, after in zip(lines, lines[1:], strict=False) if line[0] == "pub" and after[0] == "fpr"]
