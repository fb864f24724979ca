"""Connections of each client. A silent connection makes room for the next one of the same client, so a client that
opens many idle connections takes no place from others, and none from itself."""

import socket
import threading
import time
from contextlib import suppress

PER_CLIENT = 16
IDLE_SECONDS = 0.25
"""A request follows its connection at once. A connection that is younger is not closed for another one, so the rest
of a burst is refused instead."""


class Clients:
    """Count connections by the addresses of their clients, the oldest first: those that wait for a request, and
    those that are answered."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pending: dict[socket.socket, tuple[str, float]] = {}
        self.active: dict[socket.socket, str] = {}

    def admit(self, connection: socket.socket, address: str) -> bool:
        """Add a connection, in the place of an idle one where its client has too many. Return False where all of
        them are at work."""
        with self.lock:
            current_time = time.monotonic()
            waiting = [
                (candidate, start_time) for candidate, (client, start_time) in self.pending.items() if client == address
            ]
            if len(waiting) + list(self.active.values()).count(address) >= PER_CLIENT:
                idle = next(
                    (oldest for oldest, start_time in waiting if current_time - start_time >= IDLE_SECONDS), None
                )
                if idle is None:
                    return False
                del self.pending[idle]
                with suppress(OSError):  # its thread sees that the client is gone
                    idle.shutdown(socket.SHUT_RDWR)
            self.pending[connection] = address, current_time
            return True

    def begin(self, connection: socket.socket) -> None:
        """Keep a connection whose request has come, whoever comes next."""
        with self.lock:
            if entry := self.pending.pop(connection, None):
                self.active[connection] = entry[0]

    def leave(self, connection: socket.socket) -> None:
        """Remove a connection that has ended."""
        with self.lock:
            self.pending.pop(connection, None)
            self.active.pop(connection, None)
