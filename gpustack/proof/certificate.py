"""Judge the client certificate that a control plane signs, and keep nothing of its answer but three values.

kubectl runs programs that a kubeconfig names (`exec`), reads files that it names (`tokenFile`) and sends them to a
server that it names. So the document of a host is never handed on: the CA, the certificate and the key are taken out of
it, decoded, compared with what was asked for, and encoded anew.
"""

import re
import warnings
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.x509 import Certificate

    PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey

# kubeadm prints one line for each; base64 has no blanks at which a line could be broken.
AUTHORITY, CERTIFICATE, KEY = "certificate-authority-data", "client-certificate-data", "client-key-data"
LINE = re.compile(rf"^ *({AUTHORITY}|{CERTIFICATE}|{KEY}): ([A-Za-z0-9+/]+={{0,2}})$", re.MULTILINE)
LONGEST = 8192
"""Characters of one value; the largest of kubeadm's, a key of RSA-4096, has 4,400."""
CLOCKS = timedelta(hours=1)
"""The largest accepted difference between the clocks of the operator's machine and of the control plane."""
WEAKEST_RSA = 2048


@dataclass(frozen=True)
class Request:
    """A certificate that is asked for: the user and the group in it, and its validity in hours."""

    client: str
    group: str
    hours: int

    @property
    def exported(self) -> dict[str, str]:
        """Variables of the script that signs."""
        return {"CLIENT": self.client, "GROUP": self.group, "VALIDITY": f"{self.hours}h"}


@dataclass(frozen=True)
class Credential:
    """The CA of a cluster, a client certificate and its key, each as PEM that was encoded by us."""

    authority: str
    certificate: str
    key: str = field(repr=False)


@contextmanager
def refuse_malformed(what: str) -> Iterator[None]:
    """Turn whatever cryptography says of bytes that are not as they should be into a ValueError."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    odd = (x509.InvalidVersion, x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except InvalidSignature as error:
        raise ValueError(f"{what} is not signed by the CA beside it") from error
    except (ValueError, TypeError, OverflowError, UnsupportedAlgorithm, Warning, *odd) as error:
        raise ValueError(f"{what} is malformed: {type(error).__name__}") from error


def parse_credential(text: str, request: Request, now: datetime) -> Credential:
    """Take the three values out of what `kubeadm kubeconfig user` printed. Raises ValueError with the reason for a
    value that is missing, there twice or malformed, and for a certificate other than the one that was asked for."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    values = find_values(text)
    authority = load_authority(values[AUTHORITY])
    certificate = load_certificate(values[CERTIFICATE], "the client certificate")
    key = load_key(values[KEY])
    refuse_foreign(certificate, authority, "the client certificate")
    refuse_other_key(certificate, key)
    refuse_other_names(certificate, request)
    refuse_other_times(certificate, authority, request, now)
    with refuse_malformed("the key"):
        written = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return Credential(encode_certificate(authority), encode_certificate(certificate), written.decode())


def find_values(text: str) -> dict[str, bytes]:
    """Return the decoded value of each of the three keys, which stand in the text once."""
    pairs = LINE.findall(text)
    if sorted(key for key, _ in pairs) != sorted((AUTHORITY, CERTIFICATE, KEY)):
        raise ValueError("it does not have one CA, one client certificate and one key")
    if long := [key for key, value in pairs if len(value) > LONGEST]:
        raise ValueError(f"{long[0]} is longer than {LONGEST} characters")
    with refuse_malformed("base64 in it"):
        return {key: b64decode(value, validate=True) for key, value in pairs}


def load_certificate(pem: bytes, what: str) -> "Certificate":
    """Read PEM that has one certificate."""
    from cryptography.x509 import load_pem_x509_certificates

    with refuse_malformed(what):
        (certificate,) = load_pem_x509_certificates(pem)
    return certificate


def load_authority(pem: bytes) -> "Certificate":
    from cryptography.x509 import BasicConstraints

    authority = load_certificate(pem, "the CA")
    with refuse_malformed("the CA"):
        is_authority = authority.extensions.get_extension_for_class(BasicConstraints).value.ca
    if not is_authority:
        raise ValueError("the CA is a certificate that may sign no other")
    return authority


def load_key(pem: bytes) -> "PrivateKey":
    """Read a private key of a kind that kubeadm makes: RSA, or ECDSA."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    with refuse_malformed("the key"):
        key = load_pem_private_key(pem, None)
    if isinstance(key, EllipticCurvePrivateKey) or (isinstance(key, RSAPrivateKey) and key.key_size >= WEAKEST_RSA):
        return key
    raise ValueError(f"the key is neither RSA of {WEAKEST_RSA} bits or more nor ECDSA")


def refuse_foreign(certificate: "Certificate", authority: "Certificate", what: str) -> None:
    """Raises ValueError for a certificate that the CA did not sign."""
    if certificate.issuer != authority.subject:
        raise ValueError(f"{what} is not signed by the CA beside it")
    with refuse_malformed(what):
        certificate.verify_directly_issued_by(authority)


def refuse_other_key(certificate: "Certificate", key: "PrivateKey") -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    with refuse_malformed("the client certificate"):
        fits = certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)
    if not fits:
        raise ValueError("the key does not fit the client certificate")


def refuse_other_names(certificate: "Certificate", request: Request) -> None:
    """Raises ValueError unless the certificate is for a client, and for the user and group of the request alone."""
    from cryptography.x509 import ExtendedKeyUsage
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    with refuse_malformed("the client certificate"):
        names = sorted((name.oid.dotted_string, str(name.value)) for name in certificate.subject)
        usage = list(certificate.extensions.get_extension_for_class(ExtendedKeyUsage).value)
    wanted = ((NameOID.COMMON_NAME, request.client), (NameOID.ORGANIZATION_NAME, request.group))
    if names != sorted((oid.dotted_string, value) for oid, value in wanted):
        raise ValueError(f"the client certificate is not for the user {request.client} in the group {request.group}")
    if usage != [ExtendedKeyUsageOID.CLIENT_AUTH]:
        raise ValueError("the client certificate is not for clients")


def refuse_other_times(certificate: "Certificate", authority: "Certificate", request: Request, now: datetime) -> None:
    """Raises ValueError unless the certificate ends when the request says, or with its CA."""
    with refuse_malformed("the client certificate"):
        end, last = certificate.not_valid_after_utc, authority.not_valid_after_utc
    wanted = now + timedelta(hours=request.hours)
    if end > wanted + CLOCKS or end < min(wanted - CLOCKS, last):
        why = f"the client certificate ends at {end:%Y-%m-%dT%H:%MZ} and should at {wanted:%Y-%m-%dT%H:%MZ}"
        raise ValueError(f"{why}; the clocks of both machines may be an hour apart")


def encode_certificate(certificate: "Certificate") -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def read_server_names(pem: str, credential: Credential) -> frozenset[str]:
    """Return the DNS names and addresses in the certificate of the API server. Raises ValueError for one that the CA of
    the credential did not sign."""
    from cryptography.x509 import DNSName, IPAddress, SubjectAlternativeName

    what = "the certificate of the API server"
    certificate = load_certificate(pem.encode(), what)
    refuse_foreign(certificate, load_authority(credential.authority.encode()), what)
    with refuse_malformed(what):
        names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
        found = [name.lower() for name in names.get_values_for_type(DNSName)]
        return frozenset((*found, *(str(address) for address in names.get_values_for_type(IPAddress))))
