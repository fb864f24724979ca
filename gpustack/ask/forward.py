"""A way to addresses that only a host can reach: each gets a port here on loopback, and its connections go over the SSH
connection to that host. On the local host the address itself is the way.

Whoever can log in here can connect to such a port as well, as with `kubectl port-forward`.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gpustack.config.host import Host

HERE = "127.0.0.1"
PIECE = 65536

Dial = Callable[[str, int], Any]
"""Opens a stream (recv, sendall, shutdown, close) to an address as the host sees it. Raises OSError."""


@contextmanager
def ways(host: Host) -> Iterator["Ways"]:
    """Open as long as the `with` lasts. Raises HostRefused when the host cannot be asked."""
    if host.connection == "local":
        yield Ways(None)
        return
    from gpustack.ask import ssh

    connection = ssh.connect(host)
    found = Ways(lambda address, port: ssh.dial(connection, address, port), lambda: ssh.alive(connection))
    try:
        yield found
    finally:
        found.close()
        connection.close()


@dataclass
class Ways:
    """`dial` is None where addresses are reached as they are."""

    dial: Dial | None
    alive: Callable[[], bool] = lambda: True
    doors: list[socket.socket] = field(default_factory=list)

    def to(self, address: str, port: int, here: int = 0) -> tuple[str, int]:
        """Where it is reached from here; `here` is the port wished for. Raises OSError when that one is taken, or when
        the host reaches nobody there."""
        if self.dial is None and not here:
            return address, port
        (self.dial or beside)(address, port).close()
        door = socket.create_server((HERE, here))
        self.doors.append(door)
        threading.Thread(target=self.welcome, args=(door, address, port), daemon=True).start()
        return HERE, door.getsockname()[1]

    def welcome(self, door: socket.socket, address: str, port: int) -> None:
        """Until the door is closed."""
        while True:
            try:
                guest, _ = door.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(guest, address, port), daemon=True).start()

    def serve(self, guest: socket.socket, address: str, port: int) -> None:
        try:
            far = (self.dial or beside)(address, port)
        except OSError:
            guest.close()
            return
        join(guest, far)

    def close(self) -> None:
        for door in self.doors:
            # Closing alone does not wake a thread that waits in accept(2).
            with contextlib.suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)
            door.close()


def beside(address: str, port: int) -> socket.socket:
    return socket.create_connection((address, port), timeout=None)


def join(one: Any, other: Any) -> None:
    """Both directions, until both have ended; then both are closed."""
    back = threading.Thread(target=pour, args=(other, one), daemon=True)
    back.start()
    pour(one, other)
    back.join()
    for stream in (one, other):
        with contextlib.suppress(OSError, EOFError):
            stream.close()


def pour(source: Any, drain: Any) -> None:
    """One direction, to its end; the other side hears that it ended."""
    with contextlib.suppress(OSError, EOFError):
        while data := source.recv(PIECE):
            drain.sendall(data)
    with contextlib.suppress(OSError, EOFError):
        drain.shutdown(socket.SHUT_WR)
