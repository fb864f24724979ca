"""Host keys for known_hosts: one key of one type for one name (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).

A line of known_hosts decides whom ssh(1) trusts, so no line is written as somebody sent it: the key is parsed, checked,
and written anew. A line with `*`, with a marker or with a second name is refused.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

KINDS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
FILES = {"ssh-ed25519": "ed25519", "ssh-rsa": "rsa"}
"""The word in the name of the file that sshd(8) keeps a key in; ECDSA keys are in one file."""
LINE = re.compile(r"(?P<kind>[a-z0-9-]{1,32}) (?P<key>[A-Za-z0-9+/]{1,8192}={0,2})(?: [\x20-\x7e]{0,1024})?\n?")
"""The line that ssh-keygen(1) writes to a .pub file: type, key, and a comment."""
# An alias or an address, with its port in brackets; nothing that known_hosts gives a meaning to.
NAME = re.compile(r"[A-Za-z0-9_:%.-]+|\[[A-Za-z0-9_:%.-]+\]:[0-9]{1,5}")
SIZE = 4
"""The bytes of a length in the blob of a key (RFC 4251, section 5)."""


@dataclass(frozen=True)
class HostKey:
    """Hold a key: `kind` is one of KINDS, `blob` the bytes of the key, which begin with its kind."""

    kind: str
    blob: bytes

    @property
    def base64_blob(self) -> str:
        return base64.b64encode(self.blob).decode()

    @property
    def fingerprint(self) -> str:
        """The SHA-256 fingerprint of the key as `ssh-keygen -l` shows it."""
        return f"SHA256:{base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip('=')}"

    @property
    def file(self) -> str:
        """The file of the public key on the host."""
        return f"/etc/ssh/ssh_host_{FILES.get(self.kind, 'ecdsa')}_key.pub"


def parse_host_key(text: str) -> HostKey:
    """Parse the one line of a public key. Raise ValueError where the text is anything else."""
    line = LINE.fullmatch(text)
    if line is None:
        raise ValueError(f"it is not one line of a type, a key and a comment: {text[:80]!r}")
    return build_host_key(line["kind"], line["key"])


def build_host_key(kind: str, base64_blob: str) -> HostKey:
    """Check a key and build it. Raise ValueError where its type is unknown, where it is not base64, and where it is of
    another type."""
    if kind not in KINDS:
        raise ValueError(f"{kind[:40]!r} is none of the types {', '.join(KINDS)}")
    try:
        blob = base64.b64decode(base64_blob, validate=True)
    except binascii.Error as error:
        raise ValueError(f"the key is not base64: {error}") from error
    length = int.from_bytes(blob[:SIZE], "big")
    if blob[SIZE : SIZE + length] != kind.encode() or len(blob) <= SIZE + length:
        raise ValueError(f"the key is not of the type {kind}")
    return HostKey(kind, blob)


def build_known_line(name: str, key: HostKey) -> str:
    """Build the line of known_hosts. Raise ValueError where the name stands for more than one host."""
    if not NAME.fullmatch(name) or len(name) > 253 + len("[]:65535"):
        raise ValueError(f"{name[:80]!r} is no name for known_hosts")
    return f"{name} {key.kind} {key.base64_blob}\n"
