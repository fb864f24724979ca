"""Count the connections of each client. A silent connection makes room for the next one of the same client: a client
that opens many and leaves them idle takes no place from others, and none from itself."""

import socket
import threading
import time
from contextlib import suppress

PER_CLIENT = 16
IDLE_SECONDS = 0.25
"""A request comes right behind its connection; the rest of a burst is refused, not cut off."""


class Clients:
    """Connections with their clients' addresses, the oldest first: whose request is waited for, and who is answered."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: dict[socket.socket, tuple[str, float]] = {}
        self.answered: dict[socket.socket, str] = {}

    def admit(self, connection: socket.socket, address: str) -> bool:
        """Add a connection, in the place of an idle one where its client has too many; false where all are at work."""
        with self.lock:
            now = time.monotonic()
            waiting = [(other, since) for other, (client, since) in self.waiting.items() if client == address]
            if len(waiting) + list(self.answered.values()).count(address) >= PER_CLIENT:
                idle = next((other for other, since in waiting if now - since >= IDLE_SECONDS), None)
                if idle is None:
                    return False
                del self.waiting[idle]
                with suppress(OSError):  # its thread sees that the client is gone
                    idle.shutdown(socket.SHUT_RDWR)
            self.waiting[connection] = address, now
            return True

    def begin(self, connection: socket.socket) -> None:
        """Keep a connection whose request has come, whoever comes next."""
        with self.lock:
            if entry := self.waiting.pop(connection, None):
                self.answered[connection] = entry[0]

    def leave(self, connection: socket.socket) -> None:
        """Take a connection out that has ended."""
        with self.lock:
            self.waiting.pop(connection, None)
            self.answered.pop(connection, None)
