"""A small HTTP proxy that wants a login, on a lab's bridge: CONNECT for https, whole URLs for http (RFC 9110, 9112).

And a door with TLS that wants one before a mirror.
"""

import select
import socket
import ssl
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copyfileobj
from typing import TypeVar
from urllib.parse import urlsplit

from tests.lab.interception import Authority, relay_tunnel

PORT = 3128
Server = TypeVar("Server", bound=ThreadingHTTPServer)
OWN_HEADERS = ("connection", "proxy-connection", "proxy-authorization", "keep-alive", "host")


class Proxy(ThreadingHTTPServer):
    """`known_addresses` are of names that the machine itself finds elsewhere, `ports` what stands for a port there.
    It let `served_targets` through; `refused_targets` came without the login. With an `authority` it reads along."""

    daemon_threads = True
    authority: Authority | None = None
    header, status, asks = "Proxy-Authorization", 407, "Proxy-Authenticate"

    def __init__(
        self,
        address: str,
        user: str,
        password: str,
        addresses: Mapping[str, str],
        ports: Mapping[int, int],
        port: int = PORT,
    ) -> None:
        self.known_addresses, self.ports = addresses, ports
        self.served_targets, self.refused_targets = list[str](), list[str]()
        self.expect(user, password)
        super().__init__((address, port), Request)

    def expect(self, user: str, password: str) -> None:
        """Expect this login from now on."""
        self.expected_login = "Basic " + b64encode(f"{user}:{password}".encode()).decode()

    def place(self, host: str, port: int) -> tuple[str, int]:
        return (
            (self.known_addresses[host], self.ports.get(port, port)) if host in self.known_addresses else (host, port)
        )

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that go away."""


class Door(Proxy):
    """A mirror that wants a login: what comes with it is handed on to `upstream`. `identity` holds certificate and
    key."""

    header, status, asks = "Authorization", 401, "WWW-Authenticate"

    def __init__(
        self, address: str, port: int, user: str, password: str, upstream: tuple[str, int], identity: Path
    ) -> None:
        self.upstream = upstream
        super().__init__(address, user, password, {}, {}, port)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(identity)
        # Its handshake is part of the first reading, in the connection's own thread.
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def place(self, host: str, port: int) -> tuple[str, int]:
        return self.upstream


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *words: object) -> None:
        pass

    def is_allowed(self) -> bool:
        if self.headers.get(self.server.header) == self.server.expected_login:
            self.server.served_targets.append(self.path)
            return True
        self.server.refused_targets.append(self.path)
        self.close_connection = True
        self.send_response(self.server.status)
        self.send_header(self.server.asks, 'Basic realm="lab"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def do_CONNECT(self) -> None:
        if not self.is_allowed():
            return
        host, _, port = self.path.rpartition(":")
        self.close_connection = True
        with socket.create_connection(self.server.place(host, int(port)), timeout=30) as connection:
            self.send_response(200)
            self.end_headers()
            if self.server.authority:
                relay_tunnel(self.connection, connection, host, self.server.authority)
                return
            ends = {self.connection: connection, connection: self.connection}
            while readable := select.select(list(ends), [], [], 120)[0]:
                for ready_socket in readable:
                    if not (data := ready_socket.recv(256 * 1024)):
                        return
                    ends[ready_socket].sendall(data)

    def do_GET(self) -> None:
        if not self.is_allowed():
            return
        url = urlsplit(self.path)
        upstream = HTTPConnection(*self.server.place(url.hostname or "", url.port or 80), timeout=60)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        headers = {key: value for key, value in self.headers.items() if key.lower() not in OWN_HEADERS}
        try:
            upstream.request(
                self.command, url._replace(scheme="", netloc="").geturl(), body, headers | {"Host": url.netloc}
            )
            answer = upstream.getresponse()
            self.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in ("connection", "transfer-encoding"):
                    self.send_header(key, value)
            if answer.length is None:
                self.close_connection = True
            self.end_headers()
            copyfileobj(answer, self.wfile)
        finally:
            upstream.close()

    do_HEAD = do_POST = do_GET  # noqa: N815 - http.server's names


def create_certificate(name: str, folder: Path) -> tuple[str, Path]:
    """Create a self-signed certificate for a host name, as PEM, and the file with its key."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    tunnel_command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    name_options = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    command = [*tunnel_command, *name_options, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    identity = folder / "identity.pem"
    identity.touch(mode=0o600)
    identity.write_text(certificate.read_text() + key.read_text())
    return certificate.read_text(), identity


@contextmanager
def run_proxy(
    address: str, user: str, password: str, addresses: Mapping[str, str], ports: Mapping[int, int], port: int = PORT
) -> Iterator[Proxy]:
    with run_server(Proxy(address, user, password, addresses, ports, port)) as server:
        yield server


@contextmanager
def run_door(
    address: str, port: int, user: str, password: str, upstream: tuple[str, int], identity: Path
) -> Iterator[Proxy]:
    with run_server(Door(address, port, user, password, upstream, identity)) as server:
        yield server


@contextmanager
def run_server(server: Server) -> Iterator[Server]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
