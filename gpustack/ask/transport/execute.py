"""Running of a script as root on a host, over SSH or locally: it goes to stdin, and its lines come as they are
printed."""

import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Queue

from gpustack.ask.message import shorten_message
from gpustack.ask.snapshot import Reach
from gpustack.ask.transport import ssh
from gpustack.ask.transport.channel import ChannelIO, InputQueue
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


PeerCallback = Callable[[str], None]


@dataclass(frozen=True)
class Command:
    """Describe a command: `line` is for the login shell, `stdin` and then the items of `input_queue` until None are its
    input.

    Its output counts behind the line `first`, if there is one, and ends with the line `last`, if there is one. `limit`
    is in seconds, from its start and from each answer on (ChannelIO.stream_lines), and is multiplied by the host's
    timeout_factor.
    """

    line: str
    stdin: bytes
    limit: float = HOST_LIMIT
    first: str = ""
    last: str = ""
    input_queue: InputQueue = None


def run_script(
    host: Host, script: str, *, limit: float = HOST_LIMIT, last: str = "", peer_callback: PeerCallback = lambda _: None
) -> Iterator[str]:
    """Run a script as root in `sh`, and yield the lines of its stdout as they come, then those of its stderr, without
    their newline.

    `last` is the line that ends stdout, if there is one. `peer_callback` gets the address of an SSH connection. No part
    of the script is visible in any argv. Raise HostRefused where the host cannot be asked.
    """
    return execute_command(host, wrap_script(host, script, limit, last), peer_callback)


def interact(host: Host, script: str, inputs: "Queue[bytes | None]") -> Iterator[str]:
    """Run a script like `run_script`, without a limit. The items of `inputs` are written to its stdin until None."""
    return execute_command(host, wrap_script(host, script, float("inf"), input_queue=inputs))


def execute_command(host: Host, command: Command, peer_callback: PeerCallback = lambda _: None) -> Iterator[str]:
    """Run a command, and yield the lines of its output as they come, then those of its error output.

    At the limit the lines that have arrived count. Raise HostRefused where the host cannot be asked.
    """
    local = host.connection == "local"
    channel_context = contextlib.closing(LocalChannel(command.line)) if local else ssh.open_channel(host, command.line)
    with channel_context as channel:
        if not local:
            peer_callback(ssh.find_peer(host, channel))
        talk = ChannelIO(channel, command.stdin, command.input_queue, command.last.encode())
        has_begun = not command.first
        limit = command.limit * host.timeout_factor
        for line in talk.stream_lines(limit, limit * HOST_MOST):
            if has_begun:
                yield line
            has_begun = has_begun or line == command.first
        errors = talk.errors.decode(errors="replace")
        if not has_begun and (refusal := parse_sudo_refusal(host, errors, talk.rc)):
            raise refusal
        if not has_begun and talk.rc > 0:
            reason = f"the shell ended with {talk.rc}: {shorten_message(errors.strip())}"
            raise HostRefused(
                Reach(host.name, "host-no-shell", reason, NO_HINT if local else build_login_command(host))
            )
        yield from errors.removesuffix("\n").split("\n") if errors else ()


def wrap_script(host: Host, script: str, limit: float, last: str = "", input_queue: InputQueue = None) -> Command:
    mark = secrets.token_hex(16)
    line = build_root_command(mark, password=bool(host.become_password), sudo=host.become_exe)
    return Command(line, build_stdin(script, mark, host.become_password), limit, mark, last, input_queue)


def build_root_command(mark: str, *, password: bool, sudo: str = "sudo") -> str:
    """Build the command that the login shell runs. It holds no secret. `sudo` is one of config.connection.SUDOS."""
    skip = SKIP.format(mark=mark)
    return AS_ROOT.format(skip=skip, sudo=sudo, flags="-S" if password else "-n").strip()


def build_stdin(script: str, mark: str, password: str | None) -> bytes:
    first = f"{password}\n" if password else ""
    return f"{first}{mark}\n{script.rstrip()}\n".encode()
