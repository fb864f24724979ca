"""Runs a script as root on a host, over SSH or locally: it goes to stdin, and its lines come as they are printed."""

import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Queue

from gpustack.ask.snapshot import Reach
from gpustack.ask.transport import ssh
from gpustack.ask.transport.channel import ChannelIO, More
from gpustack.ask.transport.local import LocalChannel
from gpustack.ask.transport.refusal import HOST_LIMIT, HOST_MOST, HostRefused, parse_sudo_refusal
from gpustack.ask.transport.ssh_options import build_login_command
from gpustack.command import NO_HINT
from gpustack.config.host import Host

# Runs as root without sudo where we are root already. Under sudo the password may or may not be asked for: when it is
# not, its line would reach the shell, so everything up to a random marker is read away first. The marker is then
# printed: all before it is a talkative dotfile's, and no word of sudo's comes after it.
AS_ROOT = r"""
if [ "$(id -u)" = 0 ]; then exec sh -c '{skip}'; fi
command -v {sudo} >/dev/null 2>&1 || {{ echo GPUSTACK-NO-SUDO >&2; exit 97; }}
exec {sudo} {flags} -p "" sh -c '{skip}'
"""
# A sudo that asks for more than the password (a code of one use, a key to press) has read the marker as its answer.
SKIP = (
    'while IFS= read -r l && [ "$l" != "{mark}" ]; do :; done; '
    '[ "$l" = "{mark}" ] || {{ echo GPUSTACK-SUDO-ASKS-MORE >&2; exit 97; }}; echo; echo {mark}; exec sh -s'
)


Reached = Callable[[str], None]


@dataclass(frozen=True)
class Command:
    """`line` for the login shell, then `stdin` and what `more` brings until None. Its output counts behind the line
    `first`, if there is one, and ends with the line `last`, if there is one. `limit` in seconds from its start, and
    from each answer on (ChannelIO.lines), times the host's timeout_factor."""

    line: str
    stdin: bytes
    limit: float = HOST_LIMIT
    first: str = ""
    last: str = ""
    more: More = None


def run(
    host: Host, script: str, *, limit: float = HOST_LIMIT, last: str = "", reached: Reached = lambda _: None
) -> Iterator[str]:
    """Lines of the script's stdout as they come, then those of its stderr, without their newline. `last` is the line
    that ends stdout, if there is one. `reached` gets the address of an SSH connection. Raises HostRefused when the host
    cannot be asked.

    The script runs as root in `sh`, and nothing of it is visible in any argv.
    """
    return execute(host, wrap_script(host, script, limit, last), reached)


def interact(host: Host, script: str, more: "Queue[bytes | None]") -> Iterator[str]:
    """Like `run`, without a limit: what `more` brings is written to the script's stdin, until it brings None."""
    return execute(host, wrap_script(host, script, float("inf"), more=more))


def execute(host: Host, command: Command, reached: Reached = lambda _: None) -> Iterator[str]:
    """Lines of the output as they come, then those of the error output; at the limit what has arrived counts. Raises
    HostRefused."""
    local = host.connection == "local"
    opened = contextlib.closing(LocalChannel(command.line)) if local else ssh.open_channel(host, command.line)
    with opened as channel:
        if not local:
            reached(ssh.find_peer(host, channel))
        talk = ChannelIO(channel, command.stdin, command.more, command.last.encode())
        began = not command.first
        limit = command.limit * host.timeout_factor
        for line in talk.lines(limit, limit * HOST_MOST):
            if began:
                yield line
            began = began or line == command.first
        errors = talk.errors.decode(errors="replace")
        if not began and (refused := parse_sudo_refusal(host, errors, talk.rc)):
            raise refused
        if not began and talk.rc > 0:
            why = f"the shell ended with {talk.rc}: {errors.strip()[:200]}"
            raise HostRefused(Reach(host.name, "host-no-shell", why, NO_HINT if local else build_login_command(host)))
        yield from errors.removesuffix("\n").split("\n") if errors else ()


def wrap_script(host: Host, script: str, limit: float, last: str = "", more: More = None) -> Command:
    mark = secrets.token_hex(16)
    line = build_root_command(mark, password=bool(host.become_password), sudo=host.become_exe)
    return Command(line, build_stdin(script, mark, host.become_password), limit, mark, last, more)


def build_root_command(mark: str, *, password: bool, sudo: str = "sudo") -> str:
    """The command that the login shell runs. Holds no secret. `sudo` is one of config.connection.SUDOS."""
    skip = SKIP.format(mark=mark)
    return AS_ROOT.format(skip=skip, sudo=sudo, flags="-S" if password else "-n").strip()


def build_stdin(script: str, mark: str, password: str | None) -> bytes:
    first = f"{password}\n" if password else ""
    return f"{first}{mark}\n{script.rstrip()}\n".encode()
