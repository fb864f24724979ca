"""Connections of each client. A silent connection makes room for the next one, of the same client first, so idle
connections take no place from others, and none from their own client."""

import ipaddress
import socket
import threading
import time
from contextlib import suppress
from http import HTTPStatus

from gpustack.serve.refusal import Refusal

THREADS, PER_CLIENT = 32, 16
IDLE_SECONDS = 0.25
"""A request follows its connection at once. A connection that is younger is not closed for another one, so the rest
of a burst is refused instead."""
NETWORK_BITS = 64
"""The prefix of a network of IPv6, in which one client has all addresses that it wants (RFC 4291, 2.5.1)."""


def identify_client(address: str) -> str:
    """Return what counts as one client: an address of IPv4, a network of IPv6."""
    parsed_address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed_address, ipaddress.IPv4Address):
        return str(parsed_address)
    if parsed_address.ipv4_mapped:
        return str(parsed_address.ipv4_mapped)
    return str(ipaddress.ip_network((parsed_address, NETWORK_BITS), strict=False))


def refuse_crowd(text: str) -> Refusal:
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "serve-busy", f"{text} are being answered: ask again.")


class Clients:
    """Count connections by their clients, the oldest first: those that wait for a request, and those that are
    answered."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pending: dict[socket.socket, tuple[str, float]] = {}
        self.active: dict[socket.socket, str] = {}

    def admit(self, connection: socket.socket, address: str) -> Refusal | None:
        """Add a connection, in the place of an idle one where its client, or all together, have too many. Return the
        refusal where all of them are at work."""
        client = identify_client(address)
        with self.lock:
            places = [name for name, _ in self.pending.values()] + list(self.active.values())
            if places.count(client) >= PER_CLIENT:
                if not self.close_idle({client}):
                    return refuse_crowd(f"{PER_CLIENT} requests of this client")
            elif len(places) >= THREADS and not self.close_idle(set(places)):
                return refuse_crowd(f"{THREADS} requests")
            self.pending[connection] = client, time.monotonic()
            return None

    def close_idle(self, clients: set[str]) -> bool:
        """Close the oldest idle connection of these clients; the caller holds the lock. Return False where there is
        none."""
        latest_start = time.monotonic() - IDLE_SECONDS
        for connection, (client, start_time) in self.pending.items():
            if client in clients and start_time <= latest_start:
                del self.pending[connection]
                with suppress(OSError):  # its thread sees that the client is gone
                    connection.shutdown(socket.SHUT_RDWR)
                return True
        return False

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
