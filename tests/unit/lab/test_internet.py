"""The official names that lab hosts find on the bridge, and what is answered for them."""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from gpustack.config.spec import Spec
from gpustack.config.versions import VERSIONS
from gpustack_lab.lab.capabilities import Machine
from gpustack_lab.lab.internet import Internet, Request, build_mirror_path
from gpustack_lab.lab.inventory import build_cluster_spec
from gpustack_lab.lab.official_names import REGISTRIES, create_certificates, list_names, locate_certificates
from gpustack_lab.lab.state import Source
from tests.unit.lab.records import record


def test_every_host_of_the_version_sets_is_known() -> None:
    results = [yaml.safe_load(path.read_text()) for path in VERSIONS.glob("*.yaml")]
    urls = [url for result in results for source in result["apt"].values() for url in (source["uri"], source["key"])]
    urls += [manifest["url"] for result in results for manifest in result["manifests"].values()]
    assert {url.split("/")[2] for url in urls} <= set(list_names())
    assert set(REGISTRIES) <= set(list_names())


@pytest.mark.parametrize(
    ("host", "target", "file"),
    [
        ("pkgs.k8s.io", "/core:/stable:/v1.36/deb/InRelease", "/pkgs.k8s.io/core:/stable:/v1.36/deb/InRelease"),
        ("github.com", "/v2/of-a-repository", "/github.com/v2/of-a-repository"),
        ("registry.k8s.io", "/v2/", "/v2/"),
        ("registry.k8s.io", "/v2/pause/manifests/3.10.2", "/v2/pause/manifests/3.10.2?ns=registry.k8s.io"),
        ("registry-1.docker.io", "/v2/library/busybox/tags/list?n=1", "/v2/library/busybox/tags/list?n=1&ns=docker.io"),
    ],
)
def test_a_vendor_address_becomes_a_path_of_the_mirror(host: str, target: str, file: str) -> None:
    assert build_mirror_path(host, target) == file


class Echo(BaseHTTPRequestHandler):
    """Stands for the mirror: says what it was asked, in a body without a length when the path says so."""

    def do_GET(self) -> None:
        body = f"{self.path} {self.headers.get('Range')}".encode()
        self.send_response(206 if self.headers.get("Range") else 200)
        if "endless" not in self.path:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def internet(tmp_path: Path) -> Iterator[tuple[Internet, ssl.SSLContext]]:
    """A running one, and what its clients trust."""
    lab = record(tmp_path)
    create_certificates(lab)
    mirror = HTTPServer(("127.0.0.1", 0), Echo)

    def is_spoilt(request: Request, host: str, path: str) -> bool:
        if host == "quay.io":
            request.reply(404, b"gone")
        if path.endswith("/spoilt"):
            request.forward(host, lambda body: body[:5])
        return host == "quay.io" or path.endswith("/spoilt")

    server = Internet("127.0.0.1", f"127.0.0.1:{mirror.server_port}", locate_certificates(lab), is_spoilt, port=0)
    for host in (mirror, server):
        threading.Thread(target=host.serve_forever, daemon=True).start()
    yield server, ssl.create_default_context(cafile=str(locate_certificates(lab) / "ca.crt"))
    for host in (server, mirror):
        host.shutdown()
        host.server_close()


def request_all(internet: tuple[Internet, ssl.SSLContext], host: str, *paths: str) -> list[tuple[int, str]]:
    """Request all on one connection, as apt and containerd do. The name is checked against the certificate."""
    server, trust = internet
    connection = http.client.HTTPSConnection(host, server.server_port, context=trust, timeout=10)
    connection._create_connection = lambda _, *rest: socket.create_connection(  # type: ignore[attr-defined]
        ("127.0.0.1", server.server_port), *rest
    )
    requests = []
    for path in paths:
        connection.request("GET", path, headers={"Range": "bytes=1-"} if "part" in path else {})
        answer = connection.getresponse()
        requests.append((answer.status, answer.read().decode()))
    connection.close()
    return requests


def test_names_are_answered_over_tls_from_below_them(internet: tuple[Internet, ssl.SSLContext]) -> None:
    assert request_all(internet, "pkgs.k8s.io", "/a", "/part", "/endless", "/b") == [
        (200, "/pkgs.k8s.io/a None"),
        (206, "/pkgs.k8s.io/part bytes=1-"),
        (200, "/pkgs.k8s.io/endless None"),
        (200, "/pkgs.k8s.io/b None"),
    ]


def test_answers_can_be_spoilt(internet: tuple[Internet, ssl.SSLContext]) -> None:
    assert request_all(internet, "quay.io", "/a") == [(404, "gone")]
    assert request_all(internet, "github.com", "/spoilt", "/a") == [(200, "/gith"), (200, "/github.com/a None")]


def test_a_name_that_is_none_of_them_has_no_certificate(internet: tuple[Internet, ssl.SSLContext]) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        request_all(internet, "example.com", "/a")


def test_the_inventory_names_the_key_and_no_mirror(tmp_path: Path) -> None:
    lab = replace(record(tmp_path, source=Source("http://10.77.3.1:8480", "A" * 40)), internet=True)
    spec = Spec.model_validate(build_cluster_spec(lab, Machine(cgroup=2, oom_score=True, swap=False)))
    assert (spec.source, spec.fingerprints.containerd, spec.fingerprints.kubernetes) == ("official", "A" * 40, "A" * 40)
