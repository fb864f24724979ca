"""The way to a host: open, run a script as root with it on stdin, stream what it prints. SSH or local, one callable."""

import secrets
from collections.abc import Iterator
from queue import Queue

from gpustack.ask import local, ssh
from gpustack.ask.exchange import More
from gpustack.ask.refusal import HOST_LIMIT
from gpustack.config.host import Host

# Runs as root without sudo where we are root already. Under sudo the password may or may not be asked for: when it is
# not, its line would reach the shell, so everything up to a random marker is read away first. The marker is then said
# back: all before it is a talkative dotfile's, and no word of sudo's comes after it.
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


def as_root(mark: str, *, password: bool, sudo: str = "sudo") -> str:
    """The command that the login shell runs. Holds no secret. `sudo` is one of config.connection.SUDOS."""
    skip = SKIP.format(mark=mark)
    return AS_ROOT.format(skip=skip, sudo=sudo, flags="-S" if password else "-n").strip()


def stdin(script: str, mark: str, password: str | None) -> bytes:
    first = f"{password}\n" if password else ""
    return f"{first}{mark}\n{script.rstrip()}\n".encode()


def run(host: Host, script: str, *, limit: float = HOST_LIMIT, last: str = "") -> Iterator[str]:
    """Lines of the script's stdout as they come, then those of its stderr, without their newline. `last` is the line
    that ends stdout, if there is one. Raises HostRefused when the host cannot be asked.

    The script runs as root in `sh`, and nothing of it is visible in any argv.
    """
    return through(host, script, None, limit, last)


def converse(host: Host, script: str, more: "Queue[bytes | None]") -> Iterator[str]:
    """Like `run`, without a limit: what `more` brings is written to the script's stdin, until it brings None."""
    return through(host, script, more, float("inf"), "")


def through(host: Host, script: str, more: More, limit: float, last: str) -> Iterator[str]:
    mark = secrets.token_hex(16)
    command = as_root(mark, password=bool(host.become_password), sudo=host.become_exe)
    data = stdin(script, mark, host.become_password)
    if host.connection == "local":
        return local.run(host, command, data, limit, more, mark, last)
    return ssh.run(host, command, data, limit, more, mark, last)
