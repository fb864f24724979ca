"""Keys as vendors have them: made by gpg, prolonged under the same fingerprint."""

import subprocess
from pathlib import Path

GPG = ("gpg", "--batch", "--passphrase", "", "--pinentry-mode", "loopback", "--homedir")


class Vendor:
    """A signing key of its own home; `ends` as gpg takes it (`seconds=1`, `30d`, `2y`, `0` for never)."""

    def __init__(self, home: Path, ends: str, armour: bool = True) -> None:
        home.mkdir(mode=0o700)
        self.home, self.armour = home, armour
        self.run_gpg("--quick-generate-key", "vendor <vendor@example.org>", "ed25519", "sign", ends)
        key_list = self.run_gpg("--with-colons", "--list-keys").decode()
        self.fingerprint = next(line.split(":")[9] for line in key_list.splitlines() if line.startswith("fpr:"))

    def run_gpg(self, *words: str) -> bytes:
        return subprocess.run([*GPG, str(self.home), *words], check=True, capture_output=True, timeout=60).stdout

    def extend_key(self, ends: str) -> None:
        self.run_gpg("--quick-set-expire", self.fingerprint, ends)

    @property
    def public(self) -> bytes:
        return self.run_gpg("--export", *(("--armor",) if self.armour else ()))

    def end(self) -> None:
        subprocess.run(["gpgconf", "--homedir", str(self.home), "--kill", "gpg-agent"], check=False, timeout=60)
