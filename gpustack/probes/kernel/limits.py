"""Refusals of the kernel: further inotify instances, and signals that AppArmor denies."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import parse_integer

DENIAL_LINE = re.compile(
    r'([0-9]{1,18})\.[0-9]++ (?:(?!apparmor=").)*+apparmor="DENIED" operation="signal"'
    r'(?:(?! profile=").)*+ profile="([^"]*+)"(?:(?! peer=").)*+ peer="([^"]*+)"'
)


@dataclass(frozen=True)
class Inotify:
    """Hold the `limit` of instances of one user, and the `used_instances` of all processes seen; `refused`: one more
    could not be made."""

    limit: int
    used_instances: int
    refused: bool


@dataclass(frozen=True)
class Denial:
    """Describe a denied signal: when, in seconds of the epoch, from which profile, and to which peer."""

    denied_at: int
    profile: str
    peer: str


def parse_inotify(answer: Answer) -> Inotify:
    limit, used_instances, refusal_flag = answer.stdout.split()
    return Inotify(parse_integer(limit), parse_integer(used_instances), {"0": False, "1": True}[refusal_flag])


def parse_denials(answer: Answer) -> tuple[Denial, ...]:
    """Parse the denied signals. Raise ValueError where a line has another shape."""
    matches = [DENIAL_LINE.match(line) for line in answer.stdout.splitlines()]
    if not all(matches):
        raise ValueError(answer.stdout)
    return tuple(Denial(parse_integer(match[1]), match[2], match[3]) for match in matches if match)


# tail(1) follows a file with inotify, and says so where it cannot; a symbolic link, as /etc/os-release is on Debian, it
# follows without. It ends at once, since the process that it waits for has ended. Counting alone does not tell: the
# limit holds for a user in all containers together.
INOTIFY = Probe(
    "kernel.inotify",
    Lines(r"""cat /proc/sys/fs/inotify/max_user_instances || exit
instances=$(find /proc/[0-9]*/fd -lname anon_inode:inotify -printf x 2>/dev/null)
echo "${#instances}"
: & child=$!
wait "$child"
output=$(timeout 0.4 tail -n 0 -f --pid="$child" /etc/passwd 2>&1)
case $output in *inotify*) echo 1 ;; *) echo 0 ;; esac"""),
    parse_inotify,
    manual_command="sysctl fs.inotify.max_user_instances",
)
DENIALS = Probe(
    "kernel.denials",
    Lines(r"""command -v journalctl >/dev/null || exit
output=$(journalctl -k -b -n 3000 -o short-unix --no-pager |
  grep 'apparmor="DENIED" operation="signal".* profile="[^"]*".* peer="')
[ -z "$output" ] || printf '%s\n' "$output" | tail -n 5
exit 0"""),
    parse_denials,
    manual_command="journalctl -k -b | grep -i denied",
)
