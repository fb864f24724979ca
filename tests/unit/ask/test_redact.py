"""Nothing secret survives, what is left still parses, and what is harmless stays."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.redact.printable import clean_text
from gpustack.ask.redact.redact import redact
from gpustack.ask.redact.secret_shapes import REDACTION

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
BASE64_PEM = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUQ="
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJlLXBhcnQ"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery", "0123456789abcdef"),
        ("The token is abcdef.0123456789abcdef.", "0123456789abcdef"),
        (r'{"data":{"x":"tokens:\nabcdef.0123456789abcdef\n"}}', "0123456789abcdef"),
        (KEY, "MIIEow"),
        (KEY[:40], "MIIE"),
        (json.dumps({"key": KEY}), "IBAAKC"),
        (f"    client-key-data: {BASE64_PEM}\n", "CRUdJTiBD"),
        ("client-certificate-data: AAAABBBB", "AAAABBBB"),
        (f"x {BASE64_PEM} y", BASE64_PEM),
        (JWT, "c2lnbmF0"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpw"),
        ("curl -H 'authorization: Bearer s3cr3tvalue'", "s3cr3tvalue"),
        ("ansible_become_password: hunter2hunter2", "hunter2"),
        ("ansible_become_pass=hunter2", "hunter2"),
        ('{"registryPassword": "two words"}', "two words"),
        (r'{"text": "{\"password\": \"hunter2\"}"}', "hunter2"),
        ("NGC_API_KEY=abc123", "abc123"),
        ("mysql --password hunter2", "hunter2"),
        ("http://user:hunter2@proxy:3128/", "hunter2"),
        ("nvapi-" + "a1" * 20, "a1a1"),
        ("root:$6$saltsalt$abcdefghijklmnopqrstuvwx/:19000", "abcdefghijkl"),
    ],
)
def test_secrets_are_redacted(text: str, secret: str) -> None:
    output = redact(text)
    assert secret in text
    assert secret not in output
    assert REDACTION in output


@pytest.mark.parametrize(
    "text",
    [
        '{"automountServiceAccountToken":true,"token":null,"secret":{"secretName":"x"}}',
        "kube-apiserver --service-account-key-file=/etc/kubernetes/pki/sa.pub --token-auth-file=/x",
        "kubeadm init --skip-token-print --upload-certs",
        "net.ipv4.ip_forward = 1\nvm.swappiness = 0",
        "containerd.io 2.3.7-1~debian.12~bookworm",
        "PasswordAuthentication no",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "https://pkgs.k8s.io/core:/stable:/v1.36/deb/",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\nabc\n-----END PGP PUBLIC KEY BLOCK-----",
    ],
)
def test_harmless_text_stays(text: str) -> None:
    assert redact(text) == text


def test_json_and_yaml_still_parse() -> None:
    config = {"token": "abcdef.0123456789abcdef", "a": {"password": 'q"uote', "client-key-data": BASE64_PEM}, "n": 7}
    document = json.loads(redact(json.dumps(config)))
    assert document == {"token": REDACTION, "a": {"password": REDACTION, "client-key-data": REDACTION}, "n": 7}
    assert yaml.safe_load(redact(yaml.safe_dump(config)))["n"] == 7


def test_known_secrets_go_wherever_they_stand() -> None:
    assert redact("sudo said: s3cr3t!", ["s3cr3t!"]) == f"sudo said: {REDACTION}"
    assert redact("say ab, about", ["ab"]) == f"say {REDACTION}, about"
    assert redact("longer s3cr3t-long", ["s3cr3t", "s3cr3t-long"]) == f"longer {REDACTION}"


@given(st.text())
def test_redacting_twice_changes_nothing(text: str) -> None:
    redacted_text = redact(text)
    assert redact(redacted_text) == redacted_text


def test_long_lines_take_no_long_time() -> None:
    for text in ("a" * 262144, "eyJ" * 80000, "token" * 50000, "://a" * 60000, "-----BEGIN CERTIFICATE-----" * 9000):
        assert len(redact(text)) <= len(text)


def test_escapes_are_removed_on_rendering() -> None:
    assert clean_text("\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://e\x1b\\link\x1b(B") == "red xlink"
    assert clean_text("a\r\nb\tc\x00\x08\u202ed\re\u3000f") == "a\nb\tc\ufffd\ufffd\ufffdd\ne f"


@given(st.text(st.characters(max_codepoint=0x9F)))
def test_no_escape_sequence_is_left(text: str) -> None:
    assert {char for char in clean_text(text) if ord(char) < 32} <= {"\n", "\t"}


def test_a_document_inside_json_keeps_its_next_lines() -> None:
    text = '{"kubelet":"authorization:\\n  mode: Webhook\\ntokens:\\n  - a\\n"}'
    assert redact(text) == text
