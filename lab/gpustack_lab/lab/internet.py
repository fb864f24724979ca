"""The server behind `lab up --fake-internet`: official names with TLS, answered from the lab's mirror.

A request for https://HOST/PATH is answered from the mirror, which has it below HOST/PATH, and images below the
registry's name (bundle/serve.py). The lab runs it as a program; tests use `Internet` with a `twist` to spoil answers.
"""

import http.client
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

from gpustack_lab.lab.official_names import PORT, REGISTRIES

UPSTREAM_LIMIT = 60.0
PIECE = 256 * 1024
# Headers of an answer that are not forwarded (RFC 9110, 7.6.1).
OWN_HEADERS = ("connection", "date", "keep-alive", "server", "transfer-encoding")


def build_mirror_path(host: str, target: str) -> str:
    """Build path and query of the mirror for a request to `host`."""
    if target == "/v2/":
        return target
    if target.startswith("/v2/") and host in REGISTRIES:
        return f"{target}{'&' if '?' in target else '?'}{urlencode({'ns': REGISTRIES[host]})}"
    return f"/{host}{target}"


Twist = Callable[["Request", str, str], bool]


class Internet(ThreadingHTTPServer):
    """Serve the official names at `address`, from the mirror at `upstream` (ADDRESS:PORT).

    `twist` is asked first with host and path; it returns True when it has answered the request by itself.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, address: str, upstream: str, certificates: Path, twist: Twist | None = None, *, port: int = PORT
    ) -> None:
        self.upstream, self.twist = upstream, twist
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificates / "server.crt", certificates / "server.key")
        super().__init__((address, port), Request)

    def write_error(self, request: object, client_address: object) -> None:
        """Write one line for a client that goes away or distrusts the certificate."""
        sys.stderr.write(f"{client_address}: {sys.exc_info()[1]!r}\n")

    handle_error = write_error  # socketserver's name


class Request(BaseHTTPRequestHandler):
    """Answer one connection of a host, with any number of requests on it."""

    protocol_version = "HTTP/1.1"
    timeout = 120
    server: Internet

    def setup(self) -> None:
        # In the connection's own thread, so that a client that says nothing holds up nobody.
        self.request.settimeout(self.timeout)
        self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self.request.close()

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").partition(":")[0]
        if self.server.twist is None or not self.server.twist(self, host, self.path):
            self.forward(host)

    do_HEAD = do_GET  # noqa: N815 - http.server's names

    def forward(self, host: str, change: Callable[[bytes], bytes] | None = None, *, pace: int = 0) -> None:
        """Forward the mirror's answer, with its body changed by `change`, or at `pace` bytes in a second."""
        forwarded_headers = {
            key: value for key, value in self.headers.items() if key.lower() not in ("host", "connection")
        }
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=UPSTREAM_LIMIT)
        try:
            upstream.request(self.command, build_mirror_path(host, self.path), headers=forwarded_headers)
            answer = upstream.getresponse()
            headers = {key: value for key, value in answer.getheaders() if key.lower() not in OWN_HEADERS}
            if change:
                body = change(answer.read())
                self.reply(answer.status, body, headers)
                return
            self.begin(answer.status, headers, closing=answer.length is None)
            while data := answer.read(pace // 10 or PIECE):
                self.wfile.write(data)
                time.sleep(0.1 if pace else 0)
        finally:
            upstream.close()

    def reply(self, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
        kept_headers = {key: value for key, value in headers.items() if key.lower() != "content-length"}
        self.begin(status, kept_headers | {"Content-Length": str(len(body))}, closing=False)
        if self.command != "HEAD":
            self.wfile.write(body)

    def begin(self, status: int, headers: Mapping[str, str], *, closing: bool) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if closing:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()


if __name__ == "__main__":
    Internet(sys.argv[1], sys.argv[2], Path(sys.argv[3])).serve_forever()
