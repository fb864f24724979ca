"""Forwarding of ports of this machine to addresses that only a host reaches, over one SSH connection to it. From the
local host the addresses are reached directly.

Whoever can log in to this machine can connect to such a port as well, as with `kubectl port-forward`.

Fabric's `forward_local` is not used: after one connection that the far end refuses it accepts no other, as while
Grafana restarts, and it raises for a local port in use only at its end.
"""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gpustack.ask.transport import ssh
from gpustack.config.host import Host

LOCAL_ADDRESS = "127.0.0.1"
CHUNK = 65536
POLL_INTERVAL = 0.1
"""The seconds within which a listener ends."""

Dial = Callable[[str, int], Any]
"""Open a stream (recv, sendall, shutdown, close) to an address as the host sees it. Raise OSError where that fails."""


@contextmanager
def open_forwarder(host: Host) -> Iterator["PortForwarder"]:
    """Open a forwarder for the time of the `with` block. Raise HostRefused where the host cannot be asked."""
    if host.connection == "local":
        with contextlib.closing(PortForwarder(None)) as forwarder:
            yield forwarder
        return
    with contextlib.closing(ssh.connect(host)) as connection:
        forwarder = PortForwarder(partial(ssh.dial, connection), partial(ssh.is_alive, connection))
        with contextlib.closing(forwarder):
            yield forwarder


@dataclass
class PortForwarder:
    """Forward ports through `dial`, which is None where addresses are reached directly."""

    dial: Dial | None
    is_alive: Callable[[], bool] = lambda: True
    listeners: list["Listener"] = field(default_factory=list)

    def forward(self, address: str, port: int, local_port: int = 0) -> tuple[str, int]:
        """Forward a local port to an address, and return where it listens; port 0 is any free port.

        Raise OSError where the local port is in use, or where the host cannot connect to the address.
        """
        if self.dial is None and not local_port:
            return address, port
        dial = self.dial or dial_directly
        dial(address, port).close()
        listener = Listener(local_port, lambda: dial(address, port))
        self.listeners.append(listener)
        threading.Thread(target=listener.serve_forever, args=(POLL_INTERVAL,), daemon=True).start()
        return LOCAL_ADDRESS, listener.server_address[1]

    def close(self) -> None:
        for listener in self.listeners:
            listener.shutdown()
            listener.server_close()


class Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, dial: Callable[[], Any]) -> None:
        super().__init__((LOCAL_ADDRESS, port), socketserver.BaseRequestHandler)
        self.dial = dial

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Relay one connection, in a thread of its own. A connection that cannot be forwarded is closed."""
        with contextlib.suppress(OSError):
            relay(request, self.dial())


def dial_directly(address: str, port: int) -> socket.socket:
    return socket.create_connection((address, port), timeout=None)


def relay(client: Any, upstream: Any) -> None:
    """Copy in both directions until both have ended, and close both streams."""
    reply_thread = threading.Thread(target=copy, args=(upstream, client), daemon=True)
    reply_thread.start()
    copy(client, upstream)
    reply_thread.join()
    for stream in (client, upstream):
        with contextlib.suppress(OSError, EOFError):
            stream.close()


def copy(source: Any, target: Any) -> None:
    """Copy one direction to its end, and shut the target down for writing."""
    with contextlib.suppress(OSError, EOFError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError, EOFError):
        target.shutdown(socket.SHUT_WR)
