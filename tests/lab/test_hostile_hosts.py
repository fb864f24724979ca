"""A host whose programs lie, rave, hang or die, and whose login talks: it is never ok for that, nothing of it reaches
the terminal, and the host beside it is judged as ever."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from gpustack import lab
from gpustack.ask.redact import harmless
from gpustack.config.inventory import load
from gpustack.rollout.lock import lock
from gpustack.steps import PROBES
from tests.lab.conftest import Run

pytestmark = pytest.mark.lab
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
Check = tuple[str, str, str]
# They read one part of that answer, for which no program is asked: the shell reads /proc/sys, and a lab's kernel has
# no AppArmor.
ANOTHER_PART = {("apparmor", "kernel.modules"), ("sysctls", "kernel.sysctls")}


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    return make_lab("hostile", ["debian-12", "debian-13"], served=False)


@pytest.fixture(scope="module")
def before(two: lab.Lab, gpustack: Run) -> dict[Check, dict[str, Any]]:
    return judged(gpustack, two)


@pytest.fixture
def spoil(two: lab.Lab) -> Iterator[Callable[..., None]]:
    """Puts programs of ours on host2, which are found before the real ones; they are gone at the end."""

    def put(names: tuple[str, ...], script: str) -> None:
        text = PREPARE.replace("NAMES", " ".join(names)).replace("SCRIPT", script)
        done = two.exec("host2", ["sudo", "/bin/sh", "-s"], text=text, limit=30)
        assert done.returncode == 0, done.stderr

    yield put
    put((), "")


def judged(gpustack: Run, made: lab.Lab, *words: str) -> dict[Check, dict[str, Any]]:
    """Every check at every place, as `verify -o json -v` tells it."""
    said = gpustack("verify", "-i", made.inventory, "-o", "json", "-v", *words, code=None, limit=120)
    assert said.returncode in (1, 4, 8)
    harmlessly(said)
    states = json.loads(said.stdout)["states"]
    return {(state["step"], state["where"], check["check"]): check for state in states for check in state["checks"]}


def harmlessly(said: Any) -> None:
    odd = {char for char in said.stdout + said.stderr if not harmless(char)}
    assert odd == set()
    assert "bug of its own" not in said.stderr


def answers(check: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Without the error output: what a killed program's child still says may stand in another one's."""
    return {seen["probe"]: tuple(seen[key] for key in ("rc", "out", "cut", "lost")) for seen in check["evidence"]}


def spoiled(now: dict[Check, dict[str, Any]], before: dict[Check, dict[str, Any]], names: tuple[str, ...]) -> set[str]:
    """Probes of host2 that call one of these programs and were answered otherwise than before. Fails where a check
    holds for such an answer, or where host1 is judged otherwise."""
    calling = {probe.id for probe in PROBES if re.search(rf"(?<![\w/-])({'|'.join(names)})(?![\w-])", ask(probe))}
    found: set[str] = set()
    for key, check in now.items():
        if key[1] == "host1":
            assert check["outcome"] == before[key]["outcome"], key
        if key[1] != "host2":
            continue
        was = answers(before[key])
        other = {probe for probe, said in answers(check).items() if probe in calling and said != was.get(probe)}
        about = {probe for probe in other if (key[2], probe) not in ANOTHER_PART}
        assert not (about and check["outcome"] == "holds"), (key, check)
        found |= other
    return found


def ask(probe: Any) -> str:
    """Everything runs in a shell, and under timeout."""
    return f"sh timeout {getattr(probe.ask, 'text', '')}"


@pytest.mark.short
def test_programs_that_rave_are_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run
) -> None:
    spoil(PROGRAMS, HOSTILE["escapes"])
    assert len(spoiled(judged(gpustack, two), before, PROGRAMS)) > 12
    harmlessly(gpustack("plan", "-i", two.inventory, "-v", code=1))


@pytest.mark.slow
@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_answers_are_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run, how: str
) -> None:
    spoil(PROGRAMS, HOSTILE[how])
    found = spoiled(judged(gpustack, two), before, PROGRAMS)
    print(f"hostile answers: {len(found)} ({how}): {', '.join(sorted(found))}")
    assert len(found) > 8
    harmlessly(gpustack("plan", "-i", two.inventory, "-v", code=None))
    report = gpustack("verify", "-i", two.inventory, "-o", "junit", code=None)
    harmlessly(report)
    fromstring(report.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("how", ALONE)
def test_one_hostile_program_is_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run, how: str
) -> None:
    name, script = ALONE[how]
    spoil((name,), script)
    found = spoiled(judged(gpustack, two), before, (name,))
    print(f"hostile answers: {len(found)} ({how}): {', '.join(sorted(found))}")
    assert found
    harmlessly(gpustack("plan", "-i", two.inventory, "-v", code=None))


@pytest.mark.slow
def test_a_login_that_talks_changes_nothing(two: lab.Lab, before: dict[Check, dict[str, Any]], gpustack: Run) -> None:
    """A dotfile with escapes on both streams and an environment in German, a banner, a lecture of sudo's: the host is
    judged as before, and its lock is ours."""
    text = f"""cat >/tmp/talk <<'TALK'
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
    for name in ("host1", "host2"):
        done = two.exec(name, ["sudo", "/bin/sh", "-s"], text=text, limit=30)
        assert done.returncode == 0, done.stderr
    now = judged(gpustack, two)
    assert {key: check["outcome"] for key, check in now.items()} == {
        key: check["outcome"] for key, check in before.items()
    }
    with lock(load(two.inventory).control_planes[0], "test") as held:
        assert held.lost == ""
    harmlessly(gpustack("plan", "-i", two.inventory, "-v", code=1))
