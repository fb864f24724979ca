"""The certificates of a CA that the spec names: a file on this machine, which hosts get a copy of."""

import re
import warnings
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpustack.command import Command
from gpustack.config.secrets.secret_file import Kind, describe_unread, expand_home, judge_secret_place
from gpustack.errors import ConfigError
from gpustack.files.read import read_text

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

AUTHORITY = Kind("the certificate of a CA, as PEM", 0)
LARGEST = 256 * 1024
"""Bytes that a file may have; the bundle of a distribution has 220,000."""
PRIVATE = re.compile(r"^-----BEGIN [A-Z ]*PRIVATE KEY", re.MULTILINE)


def read_certificates(path: str) -> str:
    """Read the certificates of a file, encoded anew and without the text beside them. Raise ConfigError when the file
    cannot be used."""
    if wrong := judge_certificate_file(path):
        actual, rule = wrong
        command = Command("openssl", "x509", "-noout", "-subject", "-dates", "-in", expand_home(path))
        raise ConfigError("config-ca-file", f"{path}: {actual}.", f"Allowed: {rule}.", command)
    return encode_certificates(read_text(Path(path).expanduser(), LARGEST))


@lru_cache(maxsize=4)
def encode_certificates(text: str) -> str:
    """Encode the certificates of a text anew. It is done once for all hosts, as `load_certificates` is."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in load_certificates(text))


def judge_certificate_file(path: str, inventory: Path | None = None) -> tuple[str, str] | None:
    """Return (actual, rule) of a file that cannot be used. `inventory` is the folder that Ansible reads as a whole."""
    file = Path(path).expanduser()
    if wrong := judge_secret_place(file, inventory, AUTHORITY):
        return wrong
    convert = Command("openssl", "x509", "-inform", "der", "-in", expand_home(path))
    try:
        text = read_text(file, LARGEST)
    except OSError as error:
        return describe_unread(error, AUTHORITY)
    except UnicodeDecodeError:
        return "a file that is no text", f"{AUTHORITY.name} ({convert} prints it)"
    if PRIVATE.search(text):
        return "a file with a private key", f"{AUTHORITY.name} and nothing else: every host gets a copy"
    try:
        certificates = load_certificates(text)
    except ValueError:
        return "a file without a valid certificate", AUTHORITY.name
    return next(filter(None, map(judge_certificate, certificates)), None)


@lru_cache(maxsize=4)
def load_certificates(text: str) -> "tuple[Certificate, ...]":
    """Load all certificates of a text. Raise ValueError where there is none, or one is malformed.

    The file is read and judged for every host, and parsed once. For the bundle of a distribution, with 131
    certificates, that is 3 ms a host in place of 12 (measured).
    """
    from cryptography.x509 import InvalidVersion, load_pem_x509_certificates

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return tuple(load_pem_x509_certificates(text.encode()))
    except (InvalidVersion, Warning) as error:
        raise ValueError(f"a malformed certificate: {error}") from error


def judge_certificate(certificate: "Certificate") -> tuple[str, str] | None:
    """Return (actual, rule) of a certificate that is not valid now, or that is a server's and issued by another CA. A
    server's own certificate, issued by itself, may be trusted without being a CA's."""
    current_time = datetime.now(UTC)
    name = certificate.subject.rfc4514_string() or "a certificate without a name"
    if certificate.issuer != certificate.subject and is_no_authority(certificate):
        return f"{name}, which is no CA", f"{AUTHORITY.name}: {certificate.issuer.rfc4514_string()} issued this one"
    if certificate.not_valid_before_utc <= current_time <= certificate.not_valid_after_utc:
        return None
    if certificate.not_valid_after_utc < current_time:
        return f"{name}, which expired on {certificate.not_valid_after_utc:%Y-%m-%d}", "a certificate that is valid now"
    begin = f"{certificate.not_valid_before_utc:%Y-%m-%d}"
    return f"{name}, which is valid from {begin} on", "a certificate that is valid now"


def is_no_authority(certificate: "Certificate") -> bool:
    """Tell whether a certificate says of itself that it is no CA's."""
    from cryptography.x509 import BasicConstraints, ExtensionNotFound

    try:
        return not certificate.extensions.get_extension_for_class(BasicConstraints).value.ca
    except (ExtensionNotFound, ValueError):
        return False
