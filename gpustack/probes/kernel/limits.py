"""What the kernel refuses: further inotify instances, signals that AppArmor denies."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import number

DENIED = re.compile(
    r'([0-9]{1,18})\.[0-9]++ (?:(?!apparmor=").)*+apparmor="DENIED" operation="signal"'
    r'(?:(?! profile=").)*+ profile="([^"]*+)"(?:(?! peer=").)*+ peer="([^"]*+)"'
)


@dataclass(frozen=True)
class Inotify:
    """`limit` instances of one user; `used` by all processes seen; `refused`: one more was asked for in vain."""

    limit: int
    used: int
    refused: bool


@dataclass(frozen=True)
class Denial:
    """When, in seconds of the epoch, whose signal to whom."""

    at: int
    profile: str
    peer: str


def inotify(answer: Answer) -> Inotify:
    limit, used, refused = answer.out.split()
    return Inotify(number(limit), number(used), {"0": False, "1": True}[refused])


def denials(answer: Answer) -> tuple[Denial, ...]:
    """Raises ValueError for a line of another shape."""
    found = [DENIED.match(line) for line in answer.out.splitlines()]
    if not all(found):
        raise ValueError(answer.out)
    return tuple(Denial(number(one[1]), one[2], one[3]) for one in found if one)


# tail(1) follows a file with inotify, and says so where it cannot; a symbolic link, as /etc/os-release is on Debian, it
# follows without. It ends at once, since the process that it waits for has ended. Counting alone does not tell: the
# limit holds for a user in all containers together.
INOTIFY = Probe(
    "kernel.inotify",
    Lines(r"""cat /proc/sys/fs/inotify/max_user_instances || exit
used=$(find /proc/[0-9]*/fd -lname anon_inode:inotify -printf x 2>/dev/null)
echo "${#used}"
: & over=$!
wait "$over"
output=$(timeout 0.4 tail -n 0 -f --pid="$over" /etc/passwd 2>&1)
case $output in *inotify*) echo 1 ;; *) echo 0 ;; esac"""),
    inotify,
    like="sysctl fs.inotify.max_user_instances",
)
DENIALS = Probe(
    "kernel.denials",
    Lines(r"""command -v journalctl >/dev/null || exit
output=$(journalctl -k -b -n 3000 -o short-unix --no-pager |
  grep 'apparmor="DENIED" operation="signal".* profile="[^"]*".* peer="')
[ -z "$output" ] || printf '%s\n' "$output" | tail -n 5 | cut -c1-600
exit 0"""),
    denials,
    like="journalctl -k -b | grep -i denied",
)
