"""A certificate authority, and what `kubeadm kubeconfig user` of Kubernetes 1.36 prints with it.

The form of the document is that of createKubeConfigFileForUser and clientcmd.Write in the sources of 1.36.4; the
certificates are made here, with keys of ECDSA, which are made faster than those of RSA.
"""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gpustack.ask.probe import Answer
from gpustack.proof import credential
from gpustack.proof.certificate import Request

DOCUMENT = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {authority}
    server: {server}
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: {user}
  name: {user}@kubernetes
current-context: {user}@kubernetes
kind: Config
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"""
YEARS = timedelta(days=3650)


def encode(data: bytes) -> str:
    return b64encode(data).decode()


def name_subject(client: str, *groups: str) -> x509.Name:
    groups_of = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*groups_of, x509.NameAttribute(NameOID.COMMON_NAME, client)])


class Authority:
    """A CA with its key. Times are those of the machine."""

    def __init__(self, name: str = "kubernetes", *, signs: bool = True) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.current_time = datetime.now(UTC)
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        extension = x509.BasicConstraints(ca=signs, path_length=None)
        self.certificate = self.sign(self.subject, self.key.public_key(), YEARS, extension)

    def sign(
        self, subject: x509.Name, public: Any, validity: timedelta, *extensions: x509.ExtensionType
    ) -> x509.Certificate:
        builder = x509.CertificateBuilder(self.subject, subject, public, x509.random_serial_number())
        builder = builder.not_valid_before(self.current_time - timedelta(minutes=5)).not_valid_after(
            self.current_time + validity
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(self.key, SHA256())

    def sign_server(self, *names: str) -> str:
        """The certificate of an API server, as PEM."""
        names_of_server = [
            x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name) for name in names
        ]
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self.sign(
            name_subject("kube-apiserver"), key.public_key(), YEARS, x509.SubjectAlternativeName(names_of_server)
        )
        return certificate.public_bytes(Encoding.PEM).decode()

    def sign_client(
        self, request: Request, *, groups: tuple[str, ...] | None = None, usage: Any = ExtendedKeyUsageOID.CLIENT_AUTH
    ) -> dict[str, str]:
        """The values of a kubeconfig."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = name_subject(request.client, *(groups if groups is not None else (request.group,)))
        validity = timedelta(hours=request.hours)
        certificate = self.sign(subject, key.public_key(), validity, x509.ExtendedKeyUsage([usage]))
        return {
            "authority": encode(self.certificate.public_bytes(Encoding.PEM)),
            "certificate": encode(certificate.public_bytes(Encoding.PEM)),
            "key": encode(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())),
            "user": request.client,
            "server": "https://kube.example.com:6443",
        }

    def print_kubeconfig(self, request: Request, **replacements: str) -> str:
        return DOCUMENT.format(**{**self.sign_client(request), **replacements})

    def answer(self, request: Request, *names: str, location: str = "kube1") -> dict[str, Answer]:
        """The answers of a control plane whose API server has these names."""
        signed_config, server = self.print_kubeconfig(request), self.sign_server(*names)
        return {
            credential.CERTIFICATE.id: Answer(credential.CERTIFICATE.id, location, 0, signed_config),
            credential.SERVER.id: Answer(credential.SERVER.id, location, 0, server),
        }


@cache
def share_authority() -> Authority:
    """Return a CA for tests that do not depend on which one it is."""
    return Authority()


def answer_proof(*names: str) -> MappingProxyType[str, Answer]:
    return MappingProxyType(share_authority().answer(credential.PROOF, *names))
