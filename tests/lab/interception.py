"""A CA of the test, and the tunnels of a proxy that reads along: it shows each client a certificate of that CA."""

import select
import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

Name = x509.Name
LIMIT = 60.0  # seconds


def build_name(text: str) -> Name:
    return Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """A CA that nobody knows. `certificate_file` has its certificate; the others are written into `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, generate_private_key(SECP256R1())
        self.subject = build_name("CA of the lab's proxy")
        usage = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate_file = folder / "ca.crt"
        certificate = self.start_certificate(self.subject).public_key(self.key.public_key())
        signed_certificate = certificate.add_extension(usage, critical=True).sign(self.key, SHA256())
        self.certificate_file.write_bytes(signed_certificate.public_bytes(Encoding.PEM))
        self.contexts: dict[str, ssl.SSLContext] = {}
        self.lock = threading.Lock()

    def start_certificate(self, subject: Name) -> x509.CertificateBuilder:
        today = datetime.now(UTC)
        builder = x509.CertificateBuilder(self.subject, subject, serial_number=x509.random_serial_number())
        return builder.not_valid_before(today - timedelta(days=1)).not_valid_after(today + timedelta(days=2))

    def build_context(self, host: str) -> ssl.SSLContext:
        """Build what a server of this name shows, once for each name."""
        with self.lock:
            if host not in self.contexts:
                key = generate_private_key(SECP256R1())
                names = x509.SubjectAlternativeName([x509.DNSName(host)])
                certificate = self.start_certificate(build_name(host)).public_key(key.public_key())
                pem = certificate.add_extension(names, critical=False).sign(self.key, SHA256())
                path = self.folder / f"{host}.pem"
                path.touch(mode=0o600)
                path.write_bytes(
                    pem.public_bytes(Encoding.PEM)
                    + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
                )
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(path)
                self.contexts[host] = context
            return self.contexts[host]


def relay_tunnel(client: socket.socket, server: socket.socket, host: str, authority: Authority) -> None:
    """Relay a tunnel until one end is closed, decrypted between the two. A client that does not know the CA ends it."""
    server_context = ssl.create_default_context()
    server_context.check_hostname, server_context.verify_mode = False, ssl.CERT_NONE
    with (
        suppress(OSError),
        authority.build_context(host).wrap_socket(client, server_side=True) as inner,
        server_context.wrap_socket(server, server_hostname=host) as outer,
    ):
        copy_streams(inner, outer)


def copy_streams(*ends: ssl.SSLSocket) -> None:
    """Copy between two ends until one is closed. One thread does both: OpenSSL reads and writes no connection in two
    threads at once. A record may have no data, as a ticket has none, so nothing is waited for inside a read."""
    other_ends = dict(zip(ends, reversed(ends), strict=True))
    while ready_ends := [end for end in ends if end.pending()] or select.select(ends, [], [], LIMIT)[0]:
        for end in ready_ends:
            end.settimeout(0)
            try:
                data = end.recv(256 * 1024)
            except ssl.SSLWantReadError:
                continue
            finally:
                end.settimeout(LIMIT)
            if not data:
                return
            other_ends[end].sendall(data)
