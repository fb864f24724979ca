"""Keys of a host in the known_hosts files.

ssh-keygen(1) looks them up, so that hashed names, patterns and markers count as they do for ssh(1). The format is
described in sshd(8), SSH_KNOWN_HOSTS FILE FORMAT.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

REVOKED_MARKER, AUTHORITY_MARKER = "@revoked", "@cert-authority"


@dataclass(frozen=True)
class KnownKeys:
    """Hold keys in base64. `trusted_keys` have their type (ssh-ed25519) as value; `authority` is true where a
    certificate of the host would be trusted."""

    trusted_keys: dict[str, str]
    revoked_keys: frozenset[str]
    authority: bool


def read_known_keys(name: str, files: tuple[Path, ...]) -> KnownKeys:
    """Read the keys of a host by its name in known_hosts. A file that cannot be read has no keys, as for ssh(1)."""
    trusted_keys: dict[str, str] = {}
    revoked_keys: set[str] = set()
    authority = False
    for path in files:
        if not path.is_file():
            continue
        command = ["ssh-keygen", "-F", name, "-f", str(path)]
        completed_process = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
        for line in completed_process.stdout.splitlines():
            words = line.split()
            marker = words.pop(0) if line.startswith("@") else ""
            if line.startswith("#") or len(words) < 3:
                continue
            _, kind, key, *_ = words
            if marker == REVOKED_MARKER:
                revoked_keys.add(key)
            elif marker == AUTHORITY_MARKER:
                authority = True
            elif not marker:
                trusted_keys[key] = kind
    return KnownKeys(trusted_keys, frozenset(revoked_keys), authority)
