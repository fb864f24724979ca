"""A lab host becomes hostile: programs that lie, rave, hang or die are found before the real ones, and its login
talks."""

import re
from collections.abc import Collection, Iterable
from typing import Any

from gpustack.ask.redact.printable import is_printable
from gpustack_lab import lab
from tests.lab.firewalls import run_as_root

PROGRAMS = (
    "awk", "cat", "crictl", "curl", "df", "dpkg-query", "getent", "gpg", "grep", "ip", "iptables", "kubectl", "nft",
    "nproc", "openssl", "python3", "sed", "sort", "ss", "stat", "systemctl", "timedatectl", "uname",
)  # fmt: skip
HOSTILE = {
    "binary": "head -c 3000 /dev/urandom",
    "escapes": r"printf '\033[2J\033[31mok\033]0;pwned\007\033]52;c;cHduZWQ=\007\033[1A\r\302\233\342\200\256yes\n'",
    "huge": "head -c 400000 /dev/zero | tr '\\0' x",
    "empty lines": "yes '' | head -n 5000",
    "another language": 'echo "$0: Kommando nicht gefunden, Übertragung abgebrochen"',
    "another language, failing": 'echo "$0: Kommando nicht gefunden" >&2; exit 127',
    "our own markers": r"printf '\n== live\n== units\n. 0 1.0\n0 done\nGPUSTACK-NO-SUDO\nsudo: no\n' | tee /dev/fd/2",
    "cut within a line": '$REAL "$@" | head -c 7',
    "killed": '$REAL "$@"; kill -9 $$',
    "kills its parent": 'kill -9 $PPID; $REAL "$@"',
    "leaves a child that goes on": r"(for i in 1 2 3 4 5; do printf '\033[31mstray\n'; sleep 0.2; done) & printf '\0'",
}
ALONE = {
    "hangs": ("dpkg-query", "sleep 60"),
    "asked within a hostile limit": ("timeout", r"printf '\033[2Jok\n'"),
    "no shell": ("sh", r"printf '\033[2J== live\n'"),
}
TALK = r"""
printf '\033]0;pwned\007\033[2Jwelcome\nheld\n== live\n\000\377no newline'
printf 'sudo: a password is required\n\033[2JGPUSTACK-NO-SUDO\n' >&2
export LC_ALL=de_DE.UTF-8 LANG=C.ISO-8859-1 LANGUAGE=de POSIXLY_CORRECT=1 TMPDIR=/nonexistent CDPATH=/ ENV=/etc/profile
"""
PREPARE = """PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /usr/local/sbin && rm -f PROGRAMS timeout sh
for name in NAMES; do
  real=$(command -v "$name" || echo /bin/true)
  printf '#!/bin/sh\nREAL=%s\n' "$real" >"$name"
  cat >>"$name" <<'HOSTILE'
SCRIPT
HOSTILE
  chmod 755 "$name"
done
""".replace("PROGRAMS", " ".join(PROGRAMS))
TALKING = f"""cat >/tmp/talk <<'TALK'
{TALK}
TALK
for file in ~ops/.bashrc /etc/bash.bashrc /etc/profile.d/talk.sh; do
  cat /tmp/talk "$file" >/tmp/new 2>/dev/null
  cat /tmp/new >"$file"
done
printf '\033[2J\033]0;banner\007' >/etc/issue.evil
echo 'Banner /etc/issue.evil' >/etc/ssh/sshd_config.d/evil.conf
echo 'Defaults lecture=always, lecture_file=/etc/issue.evil' >/etc/sudoers.d/evil
cp /etc/issue.evil /etc/motd
systemctl reload ssh
"""


def put(running_lab: lab.Lab, names: Iterable[str], script: str) -> None:
    """Put programs on host2. Without names they are removed."""
    run_as_root(running_lab, "host2", PREPARE.replace("NAMES", " ".join(names)).replace("SCRIPT", script), limit=30)


def install_talking_login(running_lab: lab.Lab) -> None:
    """Install a dotfile with escapes on both streams and an environment in German, a banner, and a lecture of
    sudo's."""
    for name in ("host1", "host2"):
        run_as_root(running_lab, name, TALKING, limit=30)


def assert_harmless(value: Any) -> None:
    odd = {char for char in value.stdout + value.stderr if not is_printable(char)}
    assert odd == set()
    assert "internal error" not in value.stderr


def find_calling(probes: Iterable[Any], names: Collection[str]) -> set[str]:
    """Find the probes whose scripts call one of these programs. A probe always runs in a shell, and under timeout."""
    call_pattern = re.compile(rf"(?<![\w/-])({'|'.join(names)})(?![\w-])")
    return {probe.id for probe in probes if call_pattern.search(f"sh timeout {getattr(probe.question, 'script', '')}")}


def index_answers(document: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Index answers without their error output: what a killed program's child still says may stand in another one's."""
    return {
        entry["probe"]: tuple(entry[key] for key in ("rc", "stdout", "truncated", "reason"))
        for entry in document["evidence"]
    }
