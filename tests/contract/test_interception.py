"""The proxy of the lab that reads along: curl accepts its certificates where it knows the CA, and nowhere else."""

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.lab.http_proxy import Proxy, create_certificate, run_server
from tests.lab.interception import Authority

PAGE = b"x" * 3_000_000


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def run_tls_server(folder: Path) -> Iterator[int]:
    _, identity = create_certificate("outside.example.com", folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def call_curl(proxy: Proxy, *options: str) -> "subprocess.CompletedProcess[bytes]":
    address = f"http://kube:word@127.0.0.1:{proxy.server_address[1]}"
    env = {"PATH": os.environ["PATH"], "https_proxy": address}
    command = ["curl", "-sS", "-m", "20", *options, "https://outside.example.com/"]
    return subprocess.run(command, capture_output=True, env=env, check=False, timeout=60)


def test_a_client_accepts_the_proxy_if_it_knows_the_ca(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with (
        run_tls_server(tmp_path) as port,
        run_server(Proxy("127.0.0.1", "kube", "word", {"outside.example.com": "127.0.0.1"}, {443: port}, 0)) as proxy,
    ):
        proxy.authority = authority
        process = call_curl(proxy, "--cacert", str(authority.certificate_file))
        assert (process.returncode, process.stdout == PAGE) == (0, True), process.stderr
        assert call_curl(proxy).returncode == 60
        assert proxy.served_targets == ["outside.example.com:443"] * 2
