"""The judgement of the client certificate that a control plane signs.

kubectl runs programs that a kubeconfig names (`exec`), reads files that it names (`tokenFile`) and sends them to a
server that it names. Therefore the document of a host is never used as it is: the CA, the certificate and the key are
extracted, decoded, compared with the request, and encoded anew.
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

# kubeadm prints each value on one line, because base64 has no blanks to break a line at.
AUTHORITY, CERTIFICATE, KEY = "certificate-authority-data", "client-certificate-data", "client-key-data"
LINE = re.compile(rf"^ *({AUTHORITY}|{CERTIFICATE}|{KEY}): ([A-Za-z0-9+/]+={{0,2}})$", re.MULTILINE)
LONGEST = 8192
"""The longest accepted value in characters. The largest value of kubeadm, a key of RSA-4096, has 4,400."""
CLOCKS = timedelta(hours=1)
"""The largest accepted difference between the clocks of the operator's machine and of the control plane."""
WEAKEST_RSA = 2048


@dataclass(frozen=True)
class Request:
    """Request a certificate with this user, group and validity in hours."""

    client: str
    group: str
    hours: int

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of the script that signs."""
        return {"CLIENT": self.client, "GROUP": self.group, "VALIDITY": f"{self.hours}h"}


@dataclass(frozen=True)
class Credential:
    """Hold the CA of a cluster, a client certificate and its key, each as PEM encoded by this module."""

    authority: str
    certificate: str
    key: str = field(repr=False)


@contextmanager
def refuse_malformed(subject: str) -> Iterator[None]:
    """Convert the errors and warnings of cryptography for malformed data to a ValueError."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    extension_errors = (
        x509.InvalidVersion,
        x509.ExtensionNotFound,
        x509.DuplicateExtension,
        x509.UnsupportedGeneralNameType,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except InvalidSignature as error:
        raise ValueError(f"{subject} is not signed by the CA beside it") from error
    except (ValueError, TypeError, OverflowError, UnsupportedAlgorithm, Warning, *extension_errors) as error:
        raise ValueError(f"{subject} is malformed: {type(error).__name__}") from error


def parse_credential(text: str, request: Request, time: datetime) -> Credential:
    """Parse the output of `kubeadm kubeconfig user`. Raise ValueError with the reason for a value that is missing,
    repeated or malformed, and for a certificate that differs from the request."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    values = find_values(text)
    authority = load_authority(values[AUTHORITY])
    certificate = load_certificate(values[CERTIFICATE], "the client certificate")
    key = load_key(values[KEY])
    refuse_foreign(certificate, authority, "the client certificate")
    refuse_other_key(certificate, key)
    refuse_other_names(certificate, request)
    refuse_other_times(certificate, authority, request, time)
    with refuse_malformed("the key"):
        key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return Credential(encode_certificate(authority), encode_certificate(certificate), key_pem.decode())


def find_values(text: str) -> dict[str, bytes]:
    """Return the decoded values of the three keys. Raise ValueError unless the text has each key once."""
    pairs = LINE.findall(text)
    if sorted(key for key, _ in pairs) != sorted((AUTHORITY, CERTIFICATE, KEY)):
        raise ValueError("it does not have one CA, one client certificate and one key")
    if long := [key for key, value in pairs if len(value) > LONGEST]:
        raise ValueError(f"{long[0]} is longer than {LONGEST} characters")
    with refuse_malformed("base64 in it"):
        return {key: b64decode(value, validate=True) for key, value in pairs}


def load_certificate(pem: bytes, subject: str) -> "Certificate":
    """Load PEM that has one certificate. Raise ValueError for other data."""
    from cryptography.x509 import load_pem_x509_certificates

    with refuse_malformed(subject):
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
    """Load a private key, RSA or ECDSA as kubeadm creates them. Raise ValueError for other data."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    with refuse_malformed("the key"):
        key = load_pem_private_key(pem, None)
    if isinstance(key, EllipticCurvePrivateKey) or (isinstance(key, RSAPrivateKey) and key.key_size >= WEAKEST_RSA):
        return key
    raise ValueError(f"the key is neither RSA of {WEAKEST_RSA} bits or more nor ECDSA")


def refuse_foreign(certificate: "Certificate", authority: "Certificate", subject: str) -> None:
    """Raise ValueError for a certificate that the CA did not sign."""
    if certificate.issuer != authority.subject:
        raise ValueError(f"{subject} is not signed by the CA beside it")
    with refuse_malformed(subject):
        certificate.verify_directly_issued_by(authority)


def refuse_other_key(certificate: "Certificate", key: "PrivateKey") -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    with refuse_malformed("the client certificate"):
        fits = certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)
    if not fits:
        raise ValueError("the key does not fit the client certificate")


def refuse_other_names(certificate: "Certificate", request: Request) -> None:
    """Raise ValueError unless the certificate is for a client, and for the user and group of the request alone."""
    from cryptography.x509 import ExtendedKeyUsage
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    with refuse_malformed("the client certificate"):
        names = sorted((name.oid.dotted_string, str(name.value)) for name in certificate.subject)
        usage = list(certificate.extensions.get_extension_for_class(ExtendedKeyUsage).value)
    expected_names = ((NameOID.COMMON_NAME, request.client), (NameOID.ORGANIZATION_NAME, request.group))
    if names != sorted((oid.dotted_string, value) for oid, value in expected_names):
        raise ValueError(f"the client certificate is not for the user {request.client} in the group {request.group}")
    if usage != [ExtendedKeyUsageOID.CLIENT_AUTH]:
        raise ValueError("the client certificate is not for clients")


def refuse_other_times(certificate: "Certificate", authority: "Certificate", request: Request, time: datetime) -> None:
    """Raise ValueError unless the certificate ends with the validity of the request, or with its CA."""
    with refuse_malformed("the client certificate"):
        end, last = certificate.not_valid_after_utc, authority.not_valid_after_utc
    expected_end = time + timedelta(hours=request.hours)
    if end > expected_end + CLOCKS or end < min(expected_end - CLOCKS, last):
        reason = f"the client certificate ends at {end:%Y-%m-%dT%H:%MZ} and should at {expected_end:%Y-%m-%dT%H:%MZ}"
        raise ValueError(f"{reason}; the clocks of the host and of this machine may be an hour apart")


def encode_certificate(certificate: "Certificate") -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def read_server_names(pem: str, credential: Credential) -> frozenset[str]:
    """Return the DNS names and addresses in the certificate of the API server. Raise ValueError for a certificate that
    the CA of the credential did not sign."""
    from cryptography.x509 import DNSName, IPAddress, SubjectAlternativeName

    subject = "the certificate of the API server"
    certificate = load_certificate(pem.encode(), subject)
    refuse_foreign(certificate, load_authority(credential.authority.encode()), subject)
    with refuse_malformed(subject):
        names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
        dns_names = [name.lower() for name in names.get_values_for_type(DNSName)]
        return frozenset((*dns_names, *(str(address) for address in names.get_values_for_type(IPAddress))))
