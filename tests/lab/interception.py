"""A CA of the test, and the tunnels of a proxy that reads along: it shows each client a certificate of that CA."""

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
        thread = threading.Thread(target=copy_stream, args=(inner, outer), daemon=True)
        thread.start()
        copy_stream(outer, inner)
        thread.join()


def copy_stream(source: socket.socket, target: socket.socket) -> None:
    """Copy until the source ends, then end both: HTTP closes no half of a connection."""
    with suppress(OSError):
        while data := source.recv(256 * 1024):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
