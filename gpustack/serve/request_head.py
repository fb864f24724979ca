"""Reading of the head of a request, within limits of size and time. http.server limits each line and each read, but
not all of them together, so a client that sends a letter every few seconds would keep its thread."""

import socket
import time
from http import HTTPStatus

from gpustack.serve.refusal import Refusal

HEAD_LIMIT = 8192  # bytes
READ_LIMIT, WRITE_LIMIT, CLOSE_LIMIT = 5.0, 10.0, 1.0  # seconds
ENDS = (b"\n\r\n", b"\n\n")


def read_head(connection: socket.socket) -> bytes:
    """Read the head of a request; the beginning of a body may follow it. Return nothing where the client closed
    first. Raise Refusal."""
    deadline, head = time.monotonic() + READ_LIMIT, b""
    while not any(end in head for end in ENDS):
        if len(head) >= HEAD_LIMIT:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if b"\n" in head else HTTPStatus.REQUEST_URI_TOO_LONG
            raise Refusal(status, "serve-request", f"The request is longer than {HEAD_LIMIT} bytes.")
        try:
            part = receive(connection, HEAD_LIMIT - len(head), deadline)
        except TimeoutError:
            reason = f"The request did not come within {READ_LIMIT:.0f} s."
            raise Refusal(HTTPStatus.REQUEST_TIMEOUT, "serve-request", reason) from None
        if not part:
            return b""
        head += part
    return head


def drain(connection: socket.socket) -> None:
    """Read until the client closes. A connection that is closed earlier would be reset, and the answer lost."""
    deadline = time.monotonic() + CLOSE_LIMIT
    try:
        connection.shutdown(socket.SHUT_WR)
        while receive(connection, HEAD_LIMIT, deadline):
            pass
    except OSError:  # it went away, or sends for ever
        pass


def receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    remaining_seconds = deadline - time.monotonic()
    if remaining_seconds <= 0:
        raise TimeoutError
    connection.settimeout(remaining_seconds)
    return connection.recv(size)
