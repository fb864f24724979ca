"""The mirror's own signing key: made once per user, kept outside every bundle, and the public half inside each.

It signs the apt repositories and the manifest. It has no passphrase: it vouches for what this user built, on this
user's machine, and its directory is private.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import platformdirs

from gpustack.bundle.programs import run
from gpustack.errors import BundleError
from gpustack.files.write import write_file

OWNER = "gpustack bundle mirror"


@dataclass(frozen=True)
class Signer:
    """The key's directory and its fingerprint, 40 hex digits."""

    directory: Path
    fingerprint: str


def home() -> Path:
    """Directory of the key, mode 0700."""
    return platformdirs.user_data_path("gpustack") / "mirror-key"


@contextmanager
def signing(directory: Path) -> Iterator[Signer]:
    """The key in the directory, made if there is none; ends gpg's agent afterwards, which would stay for ever."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory.chmod(0o700)
    try:
        if not _fingerprints(directory):
            # Ten years: a bundle on an offline site has nobody who renews a key.
            loopback = ["--pinentry-mode", "loopback", "--passphrase-fd", "0"]
            generate = ["--quick-generate-key", OWNER, "ed25519", "sign", "10y"]
            run([*_gpg(directory), *loopback, *generate], text="", limit=60)
        yield Signer(directory, _fingerprints(directory)[0])
    finally:
        run(["gpgconf", "--homedir", directory, "--kill", "gpg-agent"], limit=20)


def own_fingerprint(directory: Path) -> str | None:
    """None if there is no key in the directory yet."""
    if not (directory / "pubring.kbx").is_file():
        return None
    found = _fingerprints(directory)
    return found[0] if found else None


def public(signer: Signer) -> str:
    return run([*_gpg(signer.directory), "--armor", "--export", signer.fingerprint], limit=20)


def sign(signer: Signer, file: Path) -> Path:
    """Writes the armoured detached signature FILE.asc."""
    signature = file.with_name(file.name + ".asc")
    text = run([*_gpg(signer.directory), "--armor", "-o", "-", "--detach-sign", file], limit=60)
    write_file(signature, text, readers="umask")
    return signature


def sign_text(signer: Signer, text: str) -> str:
    """Return the text within its signature."""
    return run([*_gpg(signer.directory), "-o", "-", "--clearsign"], text=text, limit=60)


def is_own(signature: Path, file: Path) -> bool:
    """Say whether this user's mirror key signed the file. Without a key, a file or a signature, it did not."""
    return _check_own(signature, file) is not None


def read_own(file: Path) -> str | None:
    """Return the text that this user's mirror key signed in the file, None where there is none."""
    return _check_own(file)


def _check_own(*files: Path) -> str | None:
    ring = home() / "pubring.kbx"
    if not all(path.is_file() and not path.is_symlink() for path in (ring, *files)):
        return None
    try:
        return run(["gpgv", "--homedir", home(), "--keyring", ring, "--output", "-", *files], limit=60)
    except BundleError:
        return None


def clearsign(signer: Signer, file: Path, into: Path) -> None:
    run([*_gpg(signer.directory), "-o", into, "--clearsign", file], limit=60)


def _gpg(directory: Path) -> list[str | Path]:
    return ["gpg", "--homedir", directory, "--quiet", "--batch", "--yes"]


def signed_by(key: Path, signature: Path, file: Path) -> str:
    """Fingerprint of the key in the file `key` that signed `file`. Raises BundleError if the signature is not good."""
    with tempfile.TemporaryDirectory(prefix="gpustack-") as scratch:
        ring = Path(scratch) / "key.gpg"
        run([*_gpg(Path(scratch)), "-o", ring, "--dearmor", key], limit=20)
        try:
            status = run(
                ["gpgv", "--homedir", scratch, "--status-fd", "1", "--keyring", ring, signature, file], limit=20
            )
        except BundleError as error:
            raise BundleError(
                "bundle-signature-bad", f"the signature of {file.name} does not hold", error.why
            ) from error
    for line in status.splitlines():
        words = line.split()
        if words[1:2] == ["VALIDSIG"]:
            return words[-1] if len(words) > 11 else words[2]
    raise BundleError("bundle-signature-bad", f"the signature of {file.name} does not hold", status.strip())


def _fingerprints(directory: Path) -> list[str]:
    listed = run([*_gpg(directory), "--with-colons", "--list-keys"], limit=20)
    lines = [line.split(":") for line in listed.splitlines()]
    return [after[9] for line, after in pairwise(lines) if line[0] == "pub" and after[0] == "fpr"]
