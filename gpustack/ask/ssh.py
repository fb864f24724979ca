"""Runs a script on a host over one SSH connection, through Fabric. The only file that knows Fabric and Paramiko.

Traps: Fabric accepts unknown host keys unless told otherwise, so known_hosts is loaded and everything else rejected;
its `in_stream` reads one byte per 10 ms (invoke #774, fabric #2296), so the script is written to the channel itself.
"""

import socket
import time
from collections.abc import Iterator
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from gpustack.ask.reach import CONNECT_LIMIT, HostRefused, sudo_refusal
from gpustack.ask.snapshot import Reach
from gpustack.ask.ssh_options import SshOptions, resolve
from gpustack.config.host import Host

if TYPE_CHECKING:
    from fabric import Connection


def run(
    host: Host, command: str, stdin: bytes, limit: float, more: "Queue[bytes | None] | None" = None
) -> Iterator[str]:
    """Lines as they come; at the limit what has arrived counts. Raises HostRefused."""
    connection = connect(host)
    try:
        transport = connection.transport
        assert transport is not None
        channel = transport.open_session(timeout=CONNECT_LIMIT)
        channel.exec_command(command)
        yield from exchange(host, channel, stdin, time.monotonic() + limit, more)
    finally:
        connection.close()


def exchange(
    host: Host, channel: Any, stdin: bytes, deadline: float, more: "Queue[bytes | None] | None"
) -> Iterator[str]:
    """Writes and reads in turn, so that neither side fills its window and waits for the other."""
    rest, errors, sent = b"", b"", memoryview(stdin)
    any_line, open_in = False, True
    while time.monotonic() < deadline:
        moved = False
        if not sent and open_in:
            piece = next_piece(more)
            if piece is None:
                channel.shutdown_write()
                open_in = False
            sent = memoryview(piece or b"")
        if sent and channel.send_ready():
            sent = sent[channel.send(bytes(sent[:32768])) :]
            moved = True
        while channel.recv_stderr_ready():
            errors += channel.recv_stderr(65536)
            moved = True
        if channel.recv_ready():
            rest += channel.recv(262144)
            *lines, rest = rest.split(b"\n")
            any_line = any_line or bool(lines)
            yield from (line.decode(errors="replace") for line in lines)
            moved = True
        if not moved and (channel.exit_status_ready() or channel.closed):
            break
        if not moved:
            time.sleep(0.002 if more is None else 0.05)
    else:
        return
    if rest:
        yield rest.decode(errors="replace")
    rc, text = channel.recv_exit_status(), errors.decode(errors="replace")
    if refusal := sudo_refusal(host, text, rc):
        raise refusal
    if not any_line and rc != 0:
        why = f"the shell ended with {rc}: {text.strip()[:200]}"
        raise HostRefused(Reach(host.name, "host-no-shell", why, f"ssh {host.address} true"))


def next_piece(more: "Queue[bytes | None] | None") -> bytes | None:
    """What to write next: nothing yet (empty), or the end (None)."""
    if more is None:
        return None
    try:
        return more.get_nowait()
    except Empty:
        return b""


def connect(host: Host) -> "Connection":
    """An open Fabric connection whose host key was checked. Raises HostRefused."""
    from fabric import Config, Connection
    from paramiko import RejectPolicy

    options = resolve(host)
    config = Config(lazy=True, overrides={"load_ssh_configs": False})
    arguments: dict[str, Any] = {
        "look_for_keys": False,
        "allow_agent": options.agent,
        "banner_timeout": CONNECT_LIMIT,
        "auth_timeout": CONNECT_LIMIT,
    }
    if present := options.key_files_present():
        arguments["key_filename"] = list(present)
    connection = Connection(
        options.hostname,
        user=options.user or None,
        port=options.port,
        config=config,
        connect_timeout=CONNECT_LIMIT,
        gateway=options.proxy_command or None,
        connect_kwargs=arguments,
    )
    client = connection.client
    client.set_missing_host_key_policy(RejectPolicy())
    trust(client, options)
    try:
        connection.open()
    except Exception as error:
        connection.close()
        raise HostRefused(refusal(host, options, error)) from error
    return connection


def trust(client: Any, options: SshOptions) -> None:
    """Loads the known host keys that ssh(1) would use; a key stored under an alias counts for the address."""
    from paramiko.hostkeys import HostKeys

    known = client.get_host_keys()
    for path in options.known_hosts:
        if path.is_file():
            known.load(str(path))
    if options.host_key_alias:
        name = options.hostname if options.port == 22 else f"[{options.hostname}]:{options.port}"
        aliased = known.lookup(options.host_key_alias)
        for kind in aliased.keys() if aliased else ():
            HostKeys.add(known, name, kind, aliased[kind])


def refusal(host: Host, options: SshOptions, error: Exception) -> Reach:
    """What went wrong, as one of the references that `gpustack explain` knows."""
    from paramiko import AuthenticationException, BadHostKeyException, PasswordRequiredException, SSHException
    from paramiko.ssh_exception import NoValidConnectionsError

    where = options.hostname if options.port == 22 else f"[{options.hostname}]:{options.port}"
    port = f"-p {options.port} " if options.port != 22 else ""
    scan = f"ssh-keyscan {port}{options.hostname} | ssh-keygen -lf -    # compare, then: ssh-keyscan {port}{options.hostname} >> {options.known_hosts[0] if options.known_hosts else '~/.ssh/known_hosts'}"
    if isinstance(error, BadHostKeyException):
        return Reach(host.name, "host-key-changed", f"the host key of {where} is another than the known one", f"ssh-keygen -R {where}    # only after finding out why it changed")
    if isinstance(error, SSHException) and "not found in known_hosts" in str(error):
        return Reach(host.name, "host-key-unknown", f"the host key of {where} is not known", scan)
    if isinstance(error, PasswordRequiredException):
        return Reach(host.name, "host-ssh-login", "the key is encrypted and no agent holds it", "ssh-add")
    if isinstance(error, AuthenticationException):
        return Reach(host.name, "host-ssh-login", f"{options.user}@{where} is not let in by any of the keys", f"ssh {port}{options.user}@{options.hostname} true")
    if isinstance(error, socket.gaierror):
        return Reach(host.name, "host-ssh-unreachable", f"the name {options.hostname} does not resolve", f"getent hosts {options.hostname}")
    if isinstance(error, (TimeoutError, socket.timeout)):
        return Reach(host.name, "host-ssh-unreachable", f"no answer from {where} within {CONNECT_LIMIT} s", f"ssh {port}{options.hostname} true")
    said = "connection refused" if isinstance(error, NoValidConnectionsError) else str(error) or type(error).__name__
    return Reach(host.name, "host-ssh-unreachable", f"{where}: {said}", f"ssh {port}{options.hostname} true")
