"""Secrets in commands and settings whose name and value are parted by a blank, and tokens by how they begin."""

import json
import re
from base64 import b64encode
from gzip import compress

import pytest

from gpustack.ask.redact.redact import redact
from gpustack.ask.redact.secret_commands import COMMANDS
from gpustack.ask.redact.secret_shapes import REDACTION, Shape

HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
PLAIN = b64encode(b"\0kube\0fig-leaf-77").decode()
RELEASE = b64encode(b64encode(compress(b'{"name":"monitoring","config":{"adminPassword":"fig-leaf-77"}}'))).decode()

# The text, and what must not be left of it. All are invented.
TEXTS = (
    ('network={\n  ssid="lab"\n  psk=figleaf77\n}', "figleaf77"),
    ("wifi-sec.psk figleaf77", "figleaf77"),
    (': PSK "figleaf77"', "figleaf77"),
    ("requirepass figleaf77", "figleaf77"),
    ('requirepass "fig leaf"', "fig"),
    ("masterauth figleaf", "figleaf"),
    ("sentinel auth-pass mymaster figleaf", "figleaf"),
    ("rocommunity figleaf 10.0.0.0/8", "figleaf"),
    ("rwcommunity6 figleaf", "figleaf"),
    ("com2sec readonly default figleaf", "figleaf"),
    ("snmp-server community figleaf RO", "figleaf"),
    ("createUser kube SHA figleaf77 AES leaffig88", "leaffig88"),
    ("auths:\n  public_v2:\n    community: f1gleaf88\n", "f1gleaf88"),
    ("bindpw figleaf", "figleaf"),
    ("rootpw figleaf", "figleaf"),
    ("ldap_default_authtok = figleaf", "figleaf"),
    ("username admin privilege 15 secret 5 f1gleaf", "f1gleaf"),
    ("line vty 0 4\n password 7 0822455D0A16", "0822455D0A16"),
    ("prometheus --basic-auth kube:figleaf", "figleaf"),
    ("skopeo copy --src-creds=kube:figleaf docker://a docker://b", "figleaf"),
    ("htpasswd -b /etc/nginx/users kube figleaf", "figleaf"),
    ("htpasswd -nbB kube figleaf", "figleaf"),
    ("htpasswd -c -B -b users kube figleaf", "figleaf"),
    ("ldapsearch -x -D cn=admin,dc=example -w figleaf -b dc=example", "figleaf"),
    ("ldappasswd -s figleaf uid=kube", "figleaf"),
    ("ipmitool -I lanplus -H 10.0.0.9 -U admin -P figleaf power status", "figleaf"),
    ("ipmitool user set password 2 figleaf", "figleaf"),
    ("smbclient //files/share -U kube%figleaf", "figleaf"),
    ("rpcclient -U 'kube%figleaf' files", "figleaf"),
    ("mc alias set store https://minio.example.com AKEXAMPLE figleaf", "figleaf"),
    ("mc config host add store http://minio:9000 AKEXAMPLE figleaf", "figleaf"),
    ("wandb login f1gleaf", "f1gleaf"),
    ("wandb login --relogin f1gleaf", "f1gleaf"),
    ("vault login s.f1gleaf", "f1gleaf"),
    ("ngrok config add-authtoken f1gleaf", "f1gleaf"),
    ("git clone https://f1gl3af77@git.example.com/team/repo", "f1gl3af77"),
    ("git clone https://FigLeaf@git.example.com/team/repo", "FigLeaf"),
    ("ya29.a0AfFigLeafFigLeaf", "FigLeaf"),
    (f"C: AUTH PLAIN {PLAIN}", PLAIN),
    (f"AUTHENTICATE PLAIN {PLAIN}", PLAIN),
    ("AUTH LOGIN a3ViZQ==", "a3ViZQ"),
    ("334 UGFzc3dvcmQ6\nZmlnbGVhZg==", "ZmlnbGVhZg"),
    (f"Ocp-Apim-Subscription-Key: {HEX}", HEX),
    (f"curl -H 'X-Auth-Key: {HEX}' https://api.example.com", HEX),
    (f"grant_type=client_credentials&client_assertion={HEX}", HEX),
    ("https://app.example.com/callback?code=4%2FfigleafXYZ&scope=a", "figleafXYZ"),
    ("code=4/figleafXYZ&grant_type=authorization_code", "figleafXYZ"),
    ("StoragePass=figleaf", "figleaf"),
    ("AccountingStoragePass=4815162342", "4815162342"),
    ("dbpass=figleaf", "figleaf"),
    ("echo figleaf | sudo -S systemctl restart kubelet", "figleaf"),
    ("echo 'fig leaf' | sudo -kS true", "fig leaf"),
    ("printf '%s\\n' figleaf | sudo --stdin true", "figleaf"),
    ("echo figleaf | docker login -u kube --password-stdin", "figleaf"),
    ("sudo -S true <<< figleaf", "figleaf"),
    ("echo root:figleaf | chpasswd", "figleaf"),
    ('echo "root:figleaf" | sudo chpasswd -e', "figleaf"),
    ("chpasswd <<< root:figleaf", "figleaf"),
    ("chpasswd <<'EOF'\nroot:figleaf\nkube:leaffig\nEOF\nid", "leaffig"),
    ("otp: 482915", "482915"),
    ("pin: 4829", "4829"),
    ("passcode: 482915", "482915"),
    ("Your verification code is 482915", "482915"),
    ("snmpwalk -v2c -c figleaf switch1", "figleaf"),
    ("openssl enc -aes-256-cbc -k figleaf -in a", "figleaf"),
    ("zip -P figleaf a.zip b", "figleaf"),
    ("7z x -pfigleaf a.7z", "figleaf"),
    ("lftp -u kube,figleaf sftp://files", "figleaf"),
    ("sqlplus kube/figleaf@db", "figleaf"),
    ("rabbitmqctl add_user kube figleaf", "figleaf"),
    ("wpa_passphrase lab figleaf77", "figleaf77"),
    ("aws configure set aws_secret_access_key figleaf", "figleaf"),
    ("db.example.com:5432:metrics:kube:figleaf", "figleaf"),
    ("dop_v1_" + HEX * 2, HEX),
    ("gsk_figleafFIGLEAF0123456789abcd", "figleafFIG"),
    (f"release: {RELEASE}", RELEASE[:40]),
)
HARMLESS = (
    "password 8 characters long",
    "exit code=1, rpc error: code = Unavailable desc = connection refused",
    "The requested code=404&page is not there",
    "https://kube@example.com/x and ssh://git1@example.com:22/repo",
    "AUTH LOGIN is not supported, auth plain text",
    "Pin: release o=Debian\nPin-Priority: 1001",
    "Pin: version 5:28.0.1-1~debian.12",
    "snmp community is not set, bindpw is missing",
    "wandb login failed",
    "vault login is required",
    "bypass: 12345678 compass=north",
    "ssh -p 2222 kube1 and mkdir -p /etc/kubernetes",
    "kubectl get pods -w",
    "journalctl -u kubelet -p err",
    "echo done | sudo tee /etc/motd",
    "docker run -p 8080:80 --name web image",
    "1 passed, 2 failed; code is 12",
    "sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 12",
)  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), TEXTS)
def test_no_secret_is_left(text: str, secret: str) -> None:
    assert secret in text
    output = redact(text)
    assert secret not in output
    assert REDACTION in output
    assert redact(output) == output


@pytest.mark.parametrize(("text", "secret"), TEXTS)
def test_no_secret_is_left_inside_json(text: str, secret: str) -> None:
    output = redact(json.dumps({"out": text, "next": "stays"}))
    assert json.loads(output)["next"] == "stays"
    assert json.dumps(secret)[1:-1] not in output


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text
    assert json.loads(redact(json.dumps(text))) == text


@pytest.mark.parametrize("rule", COMMANDS, ids=lambda rule: re.sub(r"\W+", "-", rule.name))
def test_each_rule_takes_its_example(rule: Shape) -> None:
    match = rule.pattern.search(rule.example)
    assert match
    assert rule.condition(match)
    assert rule.source
    assert match["s"] not in redact(rule.example)
