"""Which keys of a host the known_hosts files hold. ssh-keygen(1) looks them up, so that hashed names, patterns and
markers count as they do for ssh(1). The format: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

REVOKED, AUTHORITY = "@revoked", "@cert-authority"


@dataclass(frozen=True)
class KnownKeys:
    """Keys in base64. `trusted` have their type (ssh-ed25519) as value; `authority` is true where a certificate of the
    host would be trusted."""

    trusted: dict[str, str]
    revoked: frozenset[str]
    authority: bool


def read_known_keys(name: str, files: tuple[Path, ...]) -> KnownKeys:
    """`name` is that of the host as known_hosts has it. A file that cannot be read knows nothing, as for ssh(1)."""
    trusted: dict[str, str] = {}
    revoked: set[str] = set()
    authority = False
    for path in files:
        if not path.is_file():
            continue
        command = ["ssh-keygen", "-F", name, "-f", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=10, check=False)
        for line in done.stdout.splitlines():
            words = line.split()
            marker = words.pop(0) if line.startswith("@") else ""
            if line.startswith("#") or len(words) < 3:
                continue
            _, kind, key, *_ = words
            if marker == REVOKED:
                revoked.add(key)
            elif marker == AUTHORITY:
                authority = True
            elif not marker:
                trusted[key] = kind
    return KnownKeys(trusted, frozenset(revoked), authority)
