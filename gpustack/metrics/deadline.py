"""Connections whose answer has to begin within a limit.

The read limit of urllib3 is of each packet. A server that sends its head a byte at a time keeps within that for hours.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse

HEAD_LIMIT = 45.0  # seconds


@contextmanager
def limit_head(connection: HTTPConnection) -> Iterator[None]:
    """Shut the socket of a connection down once the limit is over. Raise OSError then."""
    expiry = threading.Event()

    def end() -> None:
        expiry.set()
        with suppress(OSError):
            if connection.sock:
                connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(HEAD_LIMIT, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, HTTPException):
        if not expiry.is_set():
            raise
    finally:
        timer.cancel()
    # The end of a connection also ends a head, without an error.
    if expiry.is_set():
        raise OSError(f"its answer had not begun after {HEAD_LIMIT:.0f} s")


class Connection(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override] # as in urllib3
        with limit_head(self):
            return super().getresponse()


class TlsConnection(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override] # as in urllib3
        with limit_head(self):
            return super().getresponse()


class Pool(HTTPConnectionPool):
    ConnectionCls = Connection


class TlsPool(HTTPSConnectionPool):
    ConnectionCls = TlsConnection


POOLS = {"http": Pool, "https": TlsPool}
