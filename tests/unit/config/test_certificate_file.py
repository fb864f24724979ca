"""The CA of a proxy or mirror: which files are refused, and what hosts get of the others."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from gpustack.ask.egress import AUTHORITIES, list_host_files
from gpustack.config.certificate_file import read_certificates
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import ConfigError
from gpustack.rollout.resolved_spec import resolve_spec
from tests.unit.config.specs import SPEC_FILE, judge_spec, list_complaints

KEY = generate_private_key(SECP256R1())
MIRROR = {"mirror": "https://10.0.0.5:8480", "fingerprint": "A" * 40}
Write = Callable[[bytes], str]


def build_authority(name: str = "Example CA", begin: int = -1, end: int = 365) -> x509.Certificate:
    """Build the certificate of a CA, valid from one day to another, counted from today."""
    subject, today = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, KEY.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(today + timedelta(begin)).not_valid_after(today + timedelta(end))
    return builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(KEY, SHA256())


def build_server_certificate(issuer: str) -> x509.Certificate:
    """Build the certificate of a server, which is no CA, as that issuer gives it."""
    subject, today = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")]), datetime.now(UTC)
    signer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)])
    builder = x509.CertificateBuilder(signer, subject, KEY.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(today - timedelta(1)).not_valid_after(today + timedelta(365))
    return builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True).sign(KEY, SHA256())


def encode(certificate: x509.Certificate, encoding: Encoding = Encoding.PEM) -> bytes:
    return certificate.public_bytes(encoding)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: bytes) -> str:
        path = tmp_path / "ca.crt"
        path.write_bytes(content)
        return str(path)

    return write_file


KEY_PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
UNFIT: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "a file without a valid certificate"),
    "text": (b"this is no certificate\n", "a file without a valid certificate"),
    "cut off": (encode(build_authority())[:-60], "a file without a valid certificate"),
    "a key": (KEY_PEM, "a file with a private key"),
    "a key beside": (encode(build_authority()) + KEY_PEM, "a file with a private key"),
    "DER": (encode(build_authority(), Encoding.DER), "a file that is no text"),
    "expired": (encode(build_authority("Old", -20, -10)), "CN=Old, which expired on 20"),
    "one expired": (encode(build_authority()) + encode(build_authority("Old", -20, -10)), "CN=Old, which expired"),
    "a server": (encode(build_server_certificate("Example CA")), "CN=server, which is no CA"),
    "not yet": (encode(build_authority("New", 10)), "CN=New, which is valid from 20"),
}


@pytest.mark.parametrize("section", ["proxy", "source"])
@pytest.mark.parametrize(("content", "actual"), UNFIT.values(), ids=UNFIT)
def test_an_unfit_file_is_refused_with_its_key(write: Write, content: bytes, actual: str, section: str) -> None:
    path = write(content)
    other_keys = MIRROR if section == "source" else {"http": "http://p:1"}
    (complaint,) = list_complaints({section: {**other_keys, "ca_file": path}})
    assert (complaint.key, complaint.reference) == (f"gpustack.{section}.ca_file", "config-ca-file")
    assert complaint.actual.startswith(f"{path}: {actual}")
    assert "PRIVATE" not in str(complaint)
    with pytest.raises(ConfigError, match=actual.partition(",")[0]):
        read_certificates(path)


@pytest.mark.parametrize("path", ["relative/ca.crt", "/nowhere/ca.crt", "/etc"])
def test_a_file_that_is_no_file_is_refused(path: str) -> None:
    (complaint,) = list_complaints({"proxy": {"http": "http://p:1", "ca_file": path}})
    assert (complaint.key, complaint.reference) == ("gpustack.proxy.ca_file", "config-ca-file")


def test_the_complaint_names_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec_file = tmp_path / SPEC_FILE
    spec_file.parent.mkdir(parents=True)
    lines = ["gpustack:", "  proxy:", "    http: http://p:1", "    # ca_file: /nowhere", '    ca_file: "/nowhere"']
    spec_file.write_text("\n".join(lines))
    (complaint,) = list_complaints({"proxy": {"http": "http://p:1", "ca_file": "/nowhere"}})
    assert complaint.file == f"{SPEC_FILE}:5"


def test_a_ca_beside_a_mirror_without_tls_is_refused(write: Write) -> None:
    path = write(encode(build_authority()))
    (complaint,) = list_complaints({"source": {**MIRROR, "mirror": "http://10.0.0.5:8480", "ca_file": path}})
    assert (complaint.key, complaint.rule) == ("gpustack.source.mirror", "https://, or no ca_file")


def test_hosts_get_the_certificates_and_nothing_else(write: Write) -> None:
    """The text around them is for people; a file of Windows has other ends of lines."""
    first, second = encode(build_authority("One")), encode(build_authority("Two"))
    path = write(b"# Bag Attributes\r\n" + first.replace(b"\n", b"\r\n") + b"subject=Two\n" + second)
    assert list_complaints({"proxy": {"http": "http://p:1", "ca_file": path}}) == []
    hosts, _, _ = judge_spec(None)
    spec = Spec.model_validate({"proxy": {"http": "http://p:1", "ca_file": path}})
    inventory = Inventory(Path("hosts.yml"), hosts, spec)
    file = list_host_files(inventory)[AUTHORITIES["proxy"]]
    assert (file.mode, file.render_text()) == ("0644", (first + second).decode())
    entries = {entry["path"]: entry for entry in resolve_spec(inventory, "e:1", {})["egress"]["prereqs"]}
    assert entries[AUTHORITIES["proxy"]]["text"] == (first + second).decode()
    assert entries[AUTHORITIES["source"]] == {"path": AUTHORITIES["source"], "mode": "-"}


def test_openssl_takes_what_hosts_get(write: Write, tmp_path: Path) -> None:
    (tmp_path / "copy.crt").write_text(read_certificates(write(encode(build_authority()))))
    command = ["openssl", "verify", "-CAfile", str(tmp_path / "copy.crt"), str(tmp_path / "ca.crt")]
    assert subprocess.run(command, capture_output=True, check=False, timeout=20).returncode == 0


def test_certificates_are_parsed_once_for_all_hosts(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    load, texts = x509.load_pem_x509_certificates, list[bytes]()

    def parse_certificates(text: bytes) -> list[x509.Certificate]:
        texts.append(text)
        return load(text)

    monkeypatch.setattr(x509, "load_pem_x509_certificates", parse_certificates)
    path = write(encode(build_authority()))
    first = read_certificates(path)
    assert read_certificates(path) == first
    assert len(texts) == 1
    write(encode(build_authority("Next CA")))
    assert read_certificates(path) != first
    assert len(texts) == 2, "a file that was replaced is parsed again"
