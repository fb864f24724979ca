"""An SSH connection to a host, through Fabric. No other file knows Fabric and Paramiko.

Fabric accepts unknown host keys unless told otherwise, and Paramiko fails at markers in known_hosts and knows no
patterns there, so HostKeyCheck is the only check. Fabric's `in_stream` reads one byte per 10 ms (invoke #774, fabric
#2296), so the script is written to the channel itself.
"""

import contextlib
import errno
import logging
import socket
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpustack.ask.addresses import is_address
from gpustack.ask.message import shorten_message
from gpustack.ask.snapshot import Reach
from gpustack.ask.transport.known_hosts import KnownKeys, read_known_keys
from gpustack.ask.transport.refusal import CONNECT_LIMIT, HostRefused
from gpustack.ask.transport.ssh_options import SshOptions, expand_home, resolve_options
from gpustack.command import Command, Hint
from gpustack.config.addresses import is_example
from gpustack.config.host import Host

if TYPE_CHECKING:
    from fabric import Connection
    from paramiko.ssh_exception import NoValidConnectionsError

# Paramiko's words where there is no key to offer.
NO_KEY = "No authentication methods available"
# What Paramiko's own thread meets is raised here as well; without a handler its log would print a traceback.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


@contextmanager
def open_channel(host: Host, command: str) -> Iterator[Any]:
    """Open the channel that a command runs on. Raise HostRefused, also when the connection breaks while it is used."""
    from paramiko import SSHException

    connection = connect(host)
    try:
        yield start_command(connection, command)
    except (SSHException, OSError, EOFError) as error:
        raise HostRefused(describe_failure(host, resolve_options(host), error)) from error
    finally:
        connection.close()


def find_peer(host: Host, channel: Any) -> str:
    """Find the address at the other end of a channel's connection.

    Behind a jump host that is the address in the inventory or in ssh_config(5), or what this machine resolves the name
    to; empty where it resolves to none.
    """
    with contextlib.suppress(OSError, UnicodeError):
        address = str(channel.get_transport().getpeername()[0])
        if is_address(address):
            return address
        name = resolve_options(host).hostname
        return name if is_address(name) else str(socket.getaddrinfo(name, None, socket.AF_INET)[0][4][0])
    return ""


def start_command(connection: "Connection", command: str) -> Any:
    """Start a command on a connection. A timer closes the connection, since Paramiko waits without a limit for the
    reply."""
    transport = connection.transport
    assert transport is not None
    start_time = time.monotonic()
    clock = threading.Timer(CONNECT_LIMIT, transport.close)
    clock.daemon = True
    clock.start()
    try:
        channel = transport.open_session(timeout=CONNECT_LIMIT)
        channel.exec_command(command)
    except Exception as error:
        raise convert_timeout(error, start_time) from error
    finally:
        clock.cancel()
    return channel


def dial(connection: "Connection", address: str, port: int) -> Any:
    """Open a stream to an address as the host sees it.

    Raise ConnectionRefusedError with the message of sshd, which says that it may not forward (AllowTcpForwarding), or
    that the port is closed.
    """
    from paramiko import ChannelException, SSHException

    transport = connection.transport
    assert transport is not None
    try:
        return transport.open_channel("direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=CONNECT_LIMIT)
    except ChannelException as error:
        raise ConnectionRefusedError(f"{address}:{port}: {error.text or 'refused'}") from error
    except (SSHException, EOFError) as error:
        raise ConnectionRefusedError(f"{address}:{port}: {error or 'the SSH connection ended'}") from error


def is_alive(connection: "Connection") -> bool:
    transport = connection.transport
    return transport is not None and bool(transport.is_active())


def convert_timeout(error: Exception, start_time: float) -> Exception:
    """Return a TimeoutError for an error that came at the limit. Paramiko has many messages for a host that does not
    answer; they share the time that they take."""
    from paramiko import AuthenticationException

    is_refusal = isinstance(error, AuthenticationException) and "timeout" not in str(error).lower()
    if is_refusal or isinstance(error, TimeoutError):
        return error
    return TimeoutError(str(error)) if time.monotonic() - start_time >= CONNECT_LIMIT else error


def connect(host: Host) -> "Connection":
    """Open a Fabric connection and check the host key. Raise HostRefused where the host cannot be asked."""
    from fabric import Config, Connection

    options = resolve_options(host)
    known_keys = read_known_keys(options.known_name, options.known_hosts)
    config = Config(lazy=True, overrides={"load_ssh_configs": False})
    arguments: dict[str, Any] = {
        "look_for_keys": False,
        "allow_agent": options.agent,
        "banner_timeout": CONNECT_LIMIT,
        "auth_timeout": CONNECT_LIMIT,
        "transport_factory": lambda *args, **kwargs: build_transport(known_keys, *args, **kwargs),
    }
    if key_files := options.find_key_files():
        arguments["key_filename"] = list(key_files)
    connection = Connection(
        options.hostname,
        user=options.user or None,
        port=options.port,
        config=config,
        connect_timeout=CONNECT_LIMIT,
        gateway=options.proxy_command or None,
        connect_kwargs=arguments,
    )
    connection.client.set_missing_host_key_policy(HostKeyCheck(host, options, known_keys))
    start_time = time.monotonic()
    try:
        if options.agent and options.identities_only:
            # Paramiko has no option for it, and takes an agent that its client already has.
            connection.client._agent = build_agent(options.read_fingerprints())
        connection.open()
    except Exception as error:
        transport = connection.client.get_transport()
        login = transport.auth_handler if transport else None
        is_closed = bool(login) and not transport.is_active()
        connection.client.close()  # Fabric closes only what has logged in
        connection.close()
        if isinstance(error, HostRefused):
            raise
        reach = describe_failure(host, options, convert_timeout(error, start_time), closed=is_closed)
        if login and (words := read_banner(login)):
            reach = replace(reach, reason=f"{reach.reason}; the host says: {words}")
        raise HostRefused(reach) from error
    return connection


def read_banner(login: Any) -> str:
    """Read what sshd sent last during the login: a notice, or why PAM let nobody in. Paramiko's own method returns
    nothing for a connection that has ended."""
    return " ".join(shorten_message((login.banner or b"").decode(errors="replace")).split())


def build_agent(fingerprints: Collection[str]) -> Any:
    """Build the user's agent with these keys alone, as ssh(1) asks it under IdentitiesOnly."""
    from paramiko import Agent

    class LimitedAgent(Agent):  # type: ignore[misc] # Paramiko has no types
        def get_keys(self) -> list[Any]:
            return [key for key in super().get_keys() if key.fingerprint in fingerprints]

    return LimitedAgent()


def build_transport(known_keys: KnownKeys, *args: Any, **kwargs: Any) -> Any:
    """Build a transport that prefers host keys of a known type, as ssh(1) does."""
    from paramiko import Transport

    transport = Transport(*args, **kwargs)
    kinds = set(known_keys.trusted_keys.values())
    # One RSA key has three names, by the hash that it signs with (RFC 8332).
    options = transport.get_security_options()
    options.key_types = sorted(options.key_types, key=lambda kind: ("ssh-rsa" if "rsa" in kind else kind) not in kinds)
    return transport


class UnknownHostKey(HostRefused):
    """Report that the host proved itself with a key that known_hosts does not have.

    `kind` and `base64_blob` are that key; `certified`: known_hosts has an authority that may have signed a certificate
    of the host.
    """

    def __init__(self, host: Host, name: str, kind: str, base64_blob: str, *, certified: bool) -> None:
        unread = f"known_hosts has an authority for {name}, and no key of its own: certificates are not read here"
        reason = unread if certified else f"the host key of {name} is not known"
        hint = Command("gpustack", "trust", host.name, note="shows its key, and adds it after a confirmation")
        super().__init__(Reach(host.name, "host-key-unknown", reason, hint))
        self.kind, self.base64_blob, self.certified = kind, base64_blob, certified


@dataclass(frozen=True)
class HostKeyCheck:
    """Check each host key. Paramiko knows no keys and leaves all of them to this policy."""

    host: Host
    options: SshOptions
    known_keys: KnownKeys

    def missing_host_key(self, client: object, name: str, key: Any) -> None:
        """Accept a known key that is not revoked. Raise HostRefused where the key is any other one."""
        base64_blob, name = key.get_base64(), self.options.known_name
        hint: Hint
        if base64_blob in self.known_keys.revoked_keys:
            reference, reason = "host-key-revoked", f"the host key of {name} is marked @revoked in known_hosts"
            hint = self.options.build_keygen_command(
                "-F", note="and give the host a new key: gpustack explain host-key-revoked"
            )
        elif base64_blob in self.known_keys.trusted_keys:
            return
        elif self.known_keys.trusted_keys:
            reference, reason = "host-key-changed", f"the host key of {name} is another than the known one"
            hint = self.options.build_keygen_command("-R", note="only after finding out why it changed")
        else:
            raise UnknownHostKey(self.host, name, key.get_name(), base64_blob, certified=self.known_keys.authority)
        raise HostRefused(Reach(self.host.name, reference, reason, hint))


def describe_failure(host: Host, options: SshOptions, error: Exception, *, closed: bool = False) -> Reach:
    """Describe why a connection failed, by one of the references that `gpustack explain` knows. `closed` tells that the
    host ended the connection during the login: Paramiko tries the next key then, and raises what it says of that."""
    from paramiko import AuthenticationException, PasswordRequiredException
    from paramiko.ssh_exception import NoValidConnectionsError

    address, command = options.address, Command("ssh", *options.destination, "true")
    if isinstance(error, PasswordRequiredException):
        return Reach(host.name, "host-ssh-login", "the key is encrypted and no agent holds it", Command("ssh-add"))
    if closed and not isinstance(error, TimeoutError):
        reason = f"{address} closed the connection while {options.user} logged in"
        return Reach(host.name, "host-ssh-login", reason, command)
    if isinstance(error, AuthenticationException) or str(error) == NO_KEY:
        reason = f"{options.user}@{address} was refused with every key"
        if host.key_file and "%" not in host.key_file and not Path(expand_home(host.key_file)).exists():
            reason += f"; there is no {host.key_file}, which ansible_ssh_private_key_file or ansible.cfg names"
        return Reach(host.name, "host-ssh-login", reason, command)
    if isinstance(error, socket.gaierror):
        reason = f"the name {options.hostname} does not resolve"
    elif isinstance(error, TimeoutError):
        reason = f"no answer from {address} within {CONNECT_LIMIT} s"
    elif isinstance(error, NoValidConnectionsError):
        reason = f"{address}: {'no route to host' if lacks_route(error) else 'connection refused'}"
    else:
        reason = f"{address}: {str(error) or type(error).__name__}"
    if is_example(options.hostname):
        reason += "; it is an address of examples, so write that of the host into the inventory"
    is_silent = isinstance(error, TimeoutError) or (isinstance(error, NoValidConnectionsError) and lacks_route(error))
    return Reach(host.name, "host-ssh-unreachable", reason, command, silent=is_silent)


def lacks_route(error: "NoValidConnectionsError") -> bool:
    """Tell whether no neighbour answers for the address, as for that of a host without power. paramiko has one error
    for this and for a refusal (paramiko/client.py)."""
    return all(cause.errno == errno.EHOSTUNREACH for cause in error.errors.values())
