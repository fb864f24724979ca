"""Proxies and what they lead to, and a host that asks through them, for tests of way-out.sh."""

import hashlib
import os
import socket
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from gpustack.config.resources import locate_playbooks
from tests.lab.http_proxy import Proxy, run_proxy, run_server
from tests.lab.interception import Authority
from tests.unit.config.test_certificate_file import build_authority, encode

FILES = locate_playbooks() / "files"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
NAME = "pkgs.example.com"
KEY, SUMS = f"https://{NAME}/Release.key", f"http://{NAME}/SHA256SUMS"
USER, PASSWORD = "kube", "n0tapassword"
# The first line that `gpg --armor --export` writes (RFC 9580, 6.2.1), and what gpustack_lab/bundle/checksums.py signs.
CONTENTS = {
    "/Release.key": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZ...\n",
    "/SHA256SUMS": f"# simulated: no\n{hashlib.sha256(b'').hexdigest()}  IMAGES\n",
    "/old/SHA256SUMS": f"{hashlib.sha256(b'').hexdigest()}  IMAGES\n",
    "/strange/SHA256SUMS": "it works\n",
}
NO_LOGIN = "HTTP_PROXY={0}\nHTTPS_PROXY={0}\nNO_PROXY=.svc\n"


class Origin(BaseHTTPRequestHandler):
    """Serve what the proxies lead to."""

    def do_GET(self) -> None:
        content = CONTENTS[self.path].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def run_origin(authority: Authority | None = None) -> Iterator[int]:
    """Run the origin, with TLS where there is an authority, and return its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Origin) as server:
        if authority:
            context = authority.build_context(NAME)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        with run_server(server):
            yield server.server_address[1]


@contextmanager
def run_closing_proxy() -> Iterator[str]:
    """Run a proxy that ends every connection without a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close_connections() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connection.recv(4096)
                connection.close()

        threading.Thread(target=close_connections, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def run_proxy_to(port: int) -> Iterator[tuple[Proxy, str]]:
    """Run a proxy that wants a login, and for which any port of the name is this one."""
    with run_proxy("127.0.0.1", USER, PASSWORD, {NAME: "127.0.0.1"}, {80: port, 443: port}, 0) as proxy:
        yield proxy, f"http://{USER}:{PASSWORD}@127.0.0.1:{proxy.server_address[1]}"


def ask(tmp_path: Path, url: str, path: str = "", **files: str) -> "subprocess.CompletedProcess[str]":
    """Run the script as the task does, for a host that has none of the `files` yet: those named in `places`."""
    home = tmp_path / "host"
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    (home / "bundle").write_bytes(encode(build_authority()))
    places = {"proxy": f"{home}/proxy.env", "login": f"{home}/gpustack-mirror.conf"}
    places |= {"apt": f"{home}/99gpustack-proxy", "apt_login": f"{home}/gpustack-proxy.conf"}
    places |= {"authority": f"{home}/ca-certificates/gpustack-proxy.crt", "left": f"{home}/gone"}
    lines = [f"{places[name]} 0600 {b64encode(text.encode()).decode()}" for name, text in files.items()]
    texts = [(FILES / name).read_text() for name in ("fetch.sh", "way-out.sh")]
    script = "\n".join(texts).replace(BUNDLE, f"{home}/bundle")
    env = {"PATH": path or os.environ["PATH"], "TMPDIR": f"{home}/tmp", "URL": url, "no_proxy": "", "NO_PROXY": "",
           "HTTP_PROXY": "", "LIMIT": "5"}  # fmt: skip
    process = subprocess.run(
        ["sh", "-c", script], input="\n".join(["", *lines, f"{places['left']} - ", ""]), capture_output=True, text=True,
        env=env, check=False, timeout=90,
    )  # fmt: skip
    assert list((home / "tmp").iterdir()) == []
    assert "n0tapassword" not in process.stdout + process.stderr
    return process


def read_refusal(process: "subprocess.CompletedProcess[str]", url: str) -> str:
    """Return the reason of a host that refused, which has what, where and the reference around it."""
    assert process.returncode == 1, process.stderr
    host = socket.gethostname()
    *_, sentence, last = process.stderr.splitlines()
    assert last == f"Nothing was changed on {host}."
    before, after = f"{url} was not fetched by {host}: ", " (gpustack explain download-failed)"
    assert sentence.startswith(before)
    assert sentence.endswith(after)
    return sentence.removeprefix(before).removesuffix(after)
