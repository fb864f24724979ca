"""The head of a request, within limits of size and time. http.server has a limit for each line and each read, and none
for all of them together: a client that sends a letter every few seconds would keep its thread."""

import socket
import time
from http import HTTPStatus

from gpustack.serve.refusal import Refusal

HEAD_LIMIT = 8192  # bytes
READ_LIMIT, WRITE_LIMIT, CLOSE_LIMIT = 5.0, 10.0, 1.0  # seconds
ENDS = (b"\n\r\n", b"\n\n")


def read_head(connection: socket.socket) -> bytes:
    """Empty where the client went away first; the beginning of a body may follow it. Raises Refusal."""
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
    """Reads on until the client closes: a connection that is closed before would reset, and lose what was answered."""
    deadline = time.monotonic() + CLOSE_LIMIT
    try:
        connection.shutdown(socket.SHUT_WR)
        while receive(connection, HEAD_LIMIT, deadline):
            pass
    except OSError:  # it went away, or sends for ever
        pass


def receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)
    return connection.recv(size)
