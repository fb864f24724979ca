"""A server on the loopback stands for all vendors: https://HOST/PATH is served at http://127.0.0.1:PORT/HOST/PATH."""

import base64
import hashlib
import subprocess
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

OCI = "application/vnd.oci.image.index.v1+json"


@dataclass
class Vendors:
    """`served` has what is at HOST/PATH, `status` what is answered in its place, `silent` are HOST/PATHs that are not
    answered; `manifests` has what a registry gives for HOST/v2/NAME/manifests/TAG to who brings its token."""

    files: dict[str, bytes] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    manifests: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


class Request(BaseHTTPRequestHandler):
    server: "Server"

    def do_GET(self) -> None:
        vendors, (path, _, query) = self.server.vendors, self.path.lstrip("/").partition("?")
        vendors.requests.append(path)
        host, _, rest = path.partition("/")
        if path in vendors.silent:
            time.sleep(3)
        elif path in vendors.status:
            self.answer(vendors.status[path])
        elif rest in ("token", "proxy_auth"):
            parameters = parse_qs(query, keep_blank_values=True)
            token = "|".join((*parameters.get("service", ()), *parameters["scope"]))
            self.answer(200, f'{{"token":"{token}","expires_in":300}}'.encode())
        elif path in vendors.manifests:
            scope = f"repository:{rest.removeprefix('v2/').partition('/manifests/')[0]}:pull"
            # As of nvcr.io: no service, and no scope that would do.
            bare = host == "nvcr.io"
            if self.headers.get("Authorization") != f"Bearer {scope if bare else f'{host}|{scope}'}":
                text = f'realm="https://{host}/proxy_auth",scope=""'
                usual = f'realm="https://auth.{host}/token",service="{host}",scope="{scope}"'
                self.answer(401, WWW_Authenticate=f"Bearer {text if bare else usual}")
            elif OCI not in ",".join(self.headers.get_all("Accept", [])):
                self.answer(404)
            else:
                digest = hashlib.sha256(vendors.manifests[path]).hexdigest()
                self.answer(200, vendors.manifests[path], Docker_Content_Digest=f"sha256:{digest}")
        elif path in vendors.files:
            self.answer(200, vendors.files[path])
        else:
            self.answer(404, b"<html>Not Found</html>")

    do_HEAD = do_GET  # noqa: N815 - http.server's names

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, vendors: Vendors) -> None:
        self.vendors = vendors
        super().__init__(("127.0.0.1", 0), Request)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Keyring:
    """Keys of vendors, made for a test."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(mode=0o700)

    def run_gpg(self, *words: str, text: str = "") -> bytes:
        command = ["gpg", "--homedir", str(self.home), "--batch", "--quiet", "--passphrase", "", *words]
        return subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=30).stdout

    def make(self, name: str, ends: str = "never", *options: str, kind: str = "ed25519") -> str:
        """Make a key and return its fingerprint."""
        self.run_gpg(*options, "--quick-gen-key", name, kind, "sign", ends)
        lines = self.run_gpg("--with-colons", "--list-keys", name).decode().splitlines()
        return next(line.split(":")[9] for line in lines if line.startswith("fpr"))

    def export_key(self, *names: str) -> bytes:
        return self.run_gpg("--armor", "--export", *names)

    def sign_clear(self, name: str) -> bytes:
        return self.run_gpg("--local-user", name, "--clearsign", text="Origin: a vendor\n")


def sign_old() -> bytes:
    """Build a clear-signed text whose signature is of version 3 (RFC 4880, 5.2.2), as gpg no longer makes them. It is
    not valid: only its version is looked at."""
    creation_time, key = int(time.time()).to_bytes(4, "big"), b"\1" * 8
    body = bytes([3, 5, 1, *creation_time, *key, 1, 8, 2, 2]) + b"\0\x10\x80\1"
    armoured_text = base64.b64encode(bytes([0x88, len(body)]) + body).decode()
    return (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOrigin: a vendor\n"
        f"-----BEGIN PGP SIGNATURE-----\n\n{armoured_text}\n-----END PGP SIGNATURE-----\n"
    ).encode()


def strip_scheme(url: str) -> str:
    return url.removeprefix("https://")


def index(*packages: tuple[str, str, str]) -> bytes:
    """Render the index of packages (name, version, architecture)."""
    return "\n".join(
        f"Package: {name}\nVersion: {version}\nArchitecture: {arch}\nDescription: a package\n of a vendor: {name}\n"
        f"Filename: ./{arch}/{name}_{version}.deb\nSize: 1\n"
        for name, version, arch in packages
    ).encode()


def offer_packages(vendors: Vendors, base: str, place: str, *packages: tuple[str, str, str]) -> None:
    vendors.files[strip_scheme(base + place)] = index(*packages)
    for name, version, arch in packages:
        vendors.files[strip_scheme(f"{base}{arch}/{name}_{version}.deb")] = b"!"


def build_url(image: str) -> str:
    registry, _, rest = image.partition("/")
    name, _, tag = rest.rpartition(":")
    return f"{registry.replace('docker.io', 'registry-1.docker.io')}/v2/{name}/manifests/{tag}"
