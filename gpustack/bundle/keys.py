"""The mirror's own signing key: created once per user and kept outside every bundle.

The public half lies in each bundle. The key signs the apt repositories and the manifest. It has no passphrase: it
vouches for what this user built, on this user's machine, and its directory is private.
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
    """Hold the directory of the key and its fingerprint, 40 hex digits."""

    directory: Path
    fingerprint: str


def locate_key_dir() -> Path:
    """Return the directory of the key, which has mode 0700."""
    return platformdirs.user_data_path("gpustack") / "mirror-key"


@contextmanager
def open_signer(directory: Path) -> Iterator[Signer]:
    """Open the key in the directory, or create it. Stop gpg's agent afterwards, which would stay for ever."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory.chmod(0o700)
    try:
        if not _list_fingerprints(directory):
            # Ten years: a bundle on an offline site has nobody who renews a key.
            loopback = ["--pinentry-mode", "loopback", "--passphrase-fd", "0"]
            generate = ["--quick-generate-key", OWNER, "ed25519", "sign", "10y"]
            run([*_build_gpg_command(directory), *loopback, *generate], text="", limit=60)
        yield Signer(directory, _list_fingerprints(directory)[0])
    finally:
        run(["gpgconf", "--homedir", directory, "--kill", "gpg-agent"], limit=20)


def find_own_fingerprint(directory: Path) -> str | None:
    """Find the fingerprint of the key in the directory. Return None where there is no key yet."""
    if not (directory / "pubring.kbx").is_file():
        return None
    fingerprints = _list_fingerprints(directory)
    return fingerprints[0] if fingerprints else None


def export_public_key(signer: Signer) -> str:
    return run([*_build_gpg_command(signer.directory), "--armor", "--export", signer.fingerprint], limit=20)


def sign(signer: Signer, file: Path) -> Path:
    """Write the armoured detached signature FILE.asc."""
    signature = file.with_name(file.name + ".asc")
    text = run([*_build_gpg_command(signer.directory), "--armor", "-o", "-", "--detach-sign", file], limit=60)
    write_file(signature, text, readers="umask")
    return signature


def sign_text(signer: Signer, text: str) -> str:
    """Return the text within its signature."""
    return run([*_build_gpg_command(signer.directory), "-o", "-", "--clearsign"], text=text, limit=60)


def is_own(signature: Path, file: Path) -> bool:
    """Tell whether this user's mirror key signed the file. Without a key, a file or a signature, it did not."""
    return _check_own(signature, file) is not None


def read_own(file: Path) -> str | None:
    """Return the text that this user's mirror key signed in the file, or None where there is none."""
    return _check_own(file)


def _check_own(*files: Path) -> str | None:
    ring = locate_key_dir() / "pubring.kbx"
    if not all(path.is_file() and not path.is_symlink() for path in (ring, *files)):
        return None
    try:
        return run(["gpgv", "--homedir", locate_key_dir(), "--keyring", ring, "--output", "-", *files], limit=60)
    except BundleError:
        return None


def sign_file(signer: Signer, file: Path, target: Path) -> None:
    run([*_build_gpg_command(signer.directory), "-o", target, "--clearsign", file], limit=60)


def _build_gpg_command(directory: Path) -> list[str | Path]:
    return ["gpg", "--homedir", directory, "--quiet", "--batch", "--yes"]


def verify_signature(key: Path, signature: Path, file: Path) -> str:
    """Return the fingerprint of the key in the file `key` that signed `file`. Raise BundleError if the signature is not
    good."""
    with tempfile.TemporaryDirectory(prefix="gpustack-") as scratch:
        ring = Path(scratch) / "key.gpg"
        run([*_build_gpg_command(Path(scratch)), "-o", ring, "--dearmor", key], limit=20)
        try:
            status = run(
                ["gpgv", "--homedir", scratch, "--status-fd", "1", "--keyring", ring, signature, file], limit=20
            )
        except BundleError as error:
            raise BundleError(
                "bundle-signature-bad", f"the signature of {file.name} does not hold", error.reason
            ) from error
    for line in status.splitlines():
        words = line.split()
        if words[1:2] == ["VALIDSIG"]:
            return words[-1] if len(words) > 11 else words[2]
    raise BundleError("bundle-signature-bad", f"the signature of {file.name} does not hold", status.strip())


def _list_fingerprints(directory: Path) -> list[str]:
    output = run([*_build_gpg_command(directory), "--with-colons", "--list-keys"], limit=20)
    lines = [line.split(":") for line in output.splitlines()]
    return [after[9] for line, after in pairwise(lines) if line[0] == "pub" and after[0] == "fpr"]
