"""fetch.sh with the real curl and proxies that refuse: the message says who refused, and what to do."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks

SCRIPT = (locate_playbooks() / "files" / "fetch.sh").read_text()
URL = "https://pkgs.example.com/key"


@contextmanager
def run_refusing_proxy(status: int) -> Iterator[str]:
    """Run a proxy that answers every request with a status and a page of HTML."""

    class Refusal(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            page = b"<html>no</html>"
            self.send_response(status)
            self.send_header("Content-Length", str(len(page)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(page)
            self.close_connection = True

        do_GET = do_CONNECT  # noqa: N815 - http.server's names

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def fetch(tmp_path: Path, proxy: str, url: str = URL) -> str:
    (tmp_path / "proxy.env").write_text(f"HTTP_PROXY={proxy}\nHTTPS_PROXY={proxy}\nNO_PROXY=\n")
    script = SCRIPT.replace("/etc/gpustack-cluster/proxy.env", str(tmp_path / "proxy.env"))
    script += f'\nLIMIT=5 fetch "{url}" "{tmp_path}/file"\n'
    env = {"PATH": os.environ["PATH"], "no_proxy": "", "NO_PROXY": ""}
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=False, timeout=60)
    assert process.returncode == 1
    return process.stderr


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (407, "the proxy wants another login (407)"),
        (502, "the proxy opens no way to pkgs.example.com (502)"),
        (403, "the proxy opens no way to pkgs.example.com (403)"),
    ],
)
def test_a_proxy_that_refuses_is_named(tmp_path: Path, status: int, advice: str) -> None:
    with run_refusing_proxy(status) as proxy:
        message = fetch(tmp_path, proxy)
    assert advice in message
    assert "of the spec" in message


def test_a_refused_page_without_a_tunnel_is_of_the_server(tmp_path: Path) -> None:
    with run_refusing_proxy(404) as proxy:
        assert "has no such file (404)" in fetch(tmp_path, proxy, "http://pkgs.example.com/key")
