"""The mirror's own signing key: created once per user and kept outside every bundle.

The public half lies in each bundle. The key signs the apt repositories and the manifest. It has no passphrase: it
vouches for what this user built, on this user's machine, and its directory is private.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpustack.bundle.keys import build_gpg_command, list_fingerprints, locate_key_dir
from gpustack.bundle.programs import run
from gpustack.errors import BundleError
from gpustack.files.write import write_file

OWNER = "gpustack bundle mirror"


@dataclass(frozen=True)
class Signer:
    """Hold the directory of the key and its fingerprint, 40 hex digits."""

    directory: Path
    fingerprint: str


@contextmanager
def open_signer(directory: Path) -> Iterator[Signer]:
    """Open the key in the directory, or create it. Stop gpg's agent afterwards, which would stay for ever."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory.chmod(0o700)
    try:
        if not list_fingerprints(directory):
            # Ten years: a bundle on an offline site has nobody who renews a key.
            loopback = ["--pinentry-mode", "loopback", "--passphrase-fd", "0"]
            generate = ["--quick-generate-key", OWNER, "ed25519", "sign", "10y"]
            run([*build_gpg_command(directory), *loopback, *generate], text="", limit=60)
        yield Signer(directory, list_fingerprints(directory)[0])
    finally:
        run(["gpgconf", "--homedir", directory, "--kill", "gpg-agent"], limit=20)


def export_public_key(signer: Signer) -> str:
    return run([*build_gpg_command(signer.directory), "--armor", "--export", signer.fingerprint], limit=20)


def sign(signer: Signer, file: Path) -> Path:
    """Write the armoured detached signature FILE.asc."""
    signature = file.with_name(file.name + ".asc")
    text = run([*build_gpg_command(signer.directory), "--armor", "-o", "-", "--detach-sign", file], limit=60)
    write_file(signature, text, readers="umask")
    return signature


def sign_text(signer: Signer, text: str) -> str:
    """Return the text within its signature."""
    return run([*build_gpg_command(signer.directory), "-o", "-", "--clearsign"], text=text, limit=60)


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
    run([*build_gpg_command(signer.directory), "-o", target, "--clearsign", file], limit=60)
