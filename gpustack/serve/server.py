"""A server with a thread for each connection."""

import socket
import socketserver
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from typing import Any

from gpustack.ask.redact.printable import clean_text
from gpustack.ask.redact.redact import redact
from gpustack.serve.allowed_hosts import normalize_name
from gpustack.serve.clients import Clients
from gpustack.serve.handler import RETRY_SECONDS, Handler
from gpustack.serve.moment import Moment
from gpustack.serve.refusal import CONTENT_TYPE, Refusal, render_problem

POLL_INTERVAL = 0.2  # seconds within which it ends


class Server(ThreadingHTTPServer):
    """Listen on an address. `hosts` are allowed names beside localhost and that of the address. Raise OSError where
    the address cannot be bound."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(
        self,
        listen: tuple[str, int],
        latest: Callable[[], Moment],
        *,
        access_log: bool = False,
        hosts: Collection[str] = (),
    ) -> None:
        self.latest, self.access_log, self.clients = latest, access_log, Clients()
        self.hosts = frozenset(map(normalize_name, (listen[0], *hosts)))
        self.address_family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        super().__init__(listen, Handler)

    @contextmanager
    def run_server(self) -> Iterator[None]:
        """Run the server in threads of its own until the block ends; the end waits for requests that are being
        answered."""
        thread = threading.Thread(target=self.serve_forever, args=(POLL_INTERVAL,))
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            thread.join()
            self.server_close()

    @property
    def url(self) -> str:
        host, port = map(str, self.server_address[:2])
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def server_bind(self) -> None:
        """Bind without looking up the name of the host, which takes seconds where no resolver answers."""
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        if refusal := self.clients.admit(request, str(client_address[0])):
            refuse_connection(request, refusal)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # No thread was started that would release it.
            self.clients.leave(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.clients.leave(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        sys.stderr.write(redact(clean_text(traceback.format_exc())))


def refuse_connection(connection: socket.socket, refusal: Refusal) -> None:
    """Refuse a connection in the thread that listens. The few bytes fit into an empty buffer, so nothing blocks."""
    body = render_problem(refusal)
    lines = (
        f"HTTP/1.1 {refusal.status} {refusal.status.phrase}",
        f"Content-Type: {CONTENT_TYPE}",
        f"Content-Length: {len(body)}",
        f"Retry-After: {RETRY_SECONDS}",
        "Connection: close",
    )
    connection.settimeout(0)
    with suppress(OSError):
        connection.sendall("\r\n".join((*lines, "", body)).encode())
