"""Signatures of a bundle: who signed it, and the place of this user's own mirror key, which a build creates."""

import tempfile
from itertools import pairwise
from pathlib import Path

import platformdirs

from gpustack.bundle.programs import run
from gpustack.command import Command
from gpustack.errors import BundleError


def locate_key_dir() -> Path:
    """Return the directory of the key, which has mode 0700."""
    return platformdirs.user_data_path("gpustack") / "mirror-key"


def find_own_fingerprint(directory: Path) -> str | None:
    """Find the fingerprint of the key in the directory. Return None where there is no key yet."""
    if not (directory / "pubring.kbx").is_file():
        return None
    fingerprints = list_fingerprints(directory)
    return fingerprints[0] if fingerprints else None


def build_gpg_command(directory: Path) -> list[str | Path]:
    return ["gpg", "--homedir", directory, "--quiet", "--batch", "--yes"]


def verify_signature(key: Path, signature: Path, file: Path) -> str:
    """Return the fingerprint of the key in the file `key` that signed `file`. Raise BundleError if the signature is not
    good."""
    with tempfile.TemporaryDirectory(prefix="gpustack-") as scratch:
        ring = Path(scratch) / "key.gpg"
        try:
            run([*build_gpg_command(Path(scratch)), "-o", ring, "--dearmor", key], limit=20)
        except BundleError as error:
            message, hint = f"{key} is no public key", Command("gpg", "--show-keys", str(key))
            raise BundleError("bundle-damaged", message, error.reason, hint) from error
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


def list_fingerprints(directory: Path) -> list[str]:
    try:
        output = run([*build_gpg_command(directory), "--with-colons", "--list-keys"], limit=20)
    except BundleError as error:
        message, hint = f"the keys in {directory} cannot be read", Command("gpg", "--homedir", str(directory), "-k")
        raise BundleError("bundle-key-unknown", message, error.reason, hint) from error
    lines = [line.split(":") for line in output.splitlines()]
    return [after[9] for line, after in pairwise(lines) if line[0] == "pub" and after[0] == "fpr"]
