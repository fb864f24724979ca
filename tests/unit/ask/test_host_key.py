"""Check that a host sends one key of one type, or nothing: no line of known_hosts is written as somebody sent it."""

import base64
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.transport.host_key import KINDS, HostKey, build_host_key, build_known_line, parse_host_key

# Of `ssh-keygen -t ed25519 -C root@gpu1` (OpenSSH 9.2p1).
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIPGlfSKUQIJ/FvQRM0yQfjTIolhfYo020/VVjAlaUdKn"
LINE = f"ssh-ed25519 {KEY} root@gpu1\n"


def encode(kind: str, rest: bytes = b"\0\0\0\x01x") -> str:
    return base64.b64encode(len(kind).to_bytes(4, "big") + kind.encode() + rest).decode()


REFUSED_KEYS = {
    "empty": "",
    "blank": "\n",
    "two lines": f"{LINE}* ssh-ed25519 {KEY}\n",
    "two keys": LINE + LINE,
    "pattern": f"* ssh-ed25519 {KEY}\n",
    "another name": f"gpu2 ssh-ed25519 {KEY}\n",
    "marker": f"@cert-authority * ssh-ed25519 {KEY}\n",
    "revoked": f"@revoked * ssh-ed25519 {KEY}\n",
    "options": f'command="id" ssh-ed25519 {KEY}\n',
    "comment line": f"# x\n{LINE}",
    "return": f"ssh-ed25519 {KEY} a\r* ssh-ed25519 {KEY}\n",
    "escape": f"ssh-ed25519 {KEY} \x1b[2Jx\n",
    "NUL": f"ssh-ed25519 {KEY} \0\n",
    "line separator": f"ssh-ed25519 {KEY} a\u2028* ssh-ed25519 {KEY}\n",
    "tab": f"ssh-ed25519\t{KEY}\n",
    "huge comment": f"ssh-ed25519 {KEY} {'x' * 100_000}\n",
    "huge key": f"ssh-ed25519 {'A' * 1_000_000}\n",
    "certificate": f"ssh-ed25519-cert-v01@openssh.com {encode('ssh-ed25519-cert-v01@openssh.com')}\n",
    "DSA": f"ssh-dss {encode('ssh-dss')}\n",
    "another type": f"ssh-rsa {KEY}\n",
    "no base64": "ssh-ed25519 AAA\n",
    "type alone": f"ssh-ed25519 {encode('ssh-ed25519', b'')}\n",
    "short": "ssh-ed25519 AAAA\n",
}


@pytest.mark.parametrize("text", REFUSED_KEYS.values(), ids=REFUSED_KEYS)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"key|types"):
        parse_host_key(text)


def test_a_key_is_written_anew_without_its_comment() -> None:
    key = parse_host_key(LINE)
    assert build_known_line("gpu1", key) == f"gpu1 ssh-ed25519 {KEY}\n"
    assert build_known_line("[10.0.0.1]:2222", key) == f"[10.0.0.1]:2222 ssh-ed25519 {KEY}\n"
    assert build_known_line("fd00::1", key).startswith("fd00::1 ssh-ed25519 ")


@pytest.mark.parametrize(
    "name",
    ["", "*", "gpu?", "a,b", "!a", "@cert-authority", "a b", "a\nb", "#a", "|1|x|y", "[*]:22", "[a]:22 *", "a\u2028b"],
)
def test_a_name_that_stands_for_more_than_one_host_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name for known_hosts"):
        build_known_line(name, parse_host_key(LINE))


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_each_type_are_accepted(kind: str, tmp_path: Path) -> None:
    """Compare each type of key with what ssh-keygen(1) makes and shows."""
    name, _, bits = kind.removeprefix("ssh-").removesuffix("-sha2").partition("-sha2-nistp")
    words = ["ssh-keygen", "-q", "-t", name, "-N", "", "-f", str(tmp_path / "key")]
    subprocess.run([*words, *(["-b", bits or "2048"] if name != "ed25519" else [])], check=True, timeout=60)
    file = tmp_path / "key.pub"
    key = parse_host_key(file.read_text())
    assert key.kind == kind
    fingerprint = subprocess.run(
        ["ssh-keygen", "-lf", str(file)], capture_output=True, text=True, check=True, timeout=10
    )
    assert key.fingerprint == fingerprint.stdout.split()[1]
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(build_known_line("gpu1", key))
    search = subprocess.run(
        ["ssh-keygen", "-F", "gpu1", "-f", str(known_hosts)], capture_output=True, check=True, timeout=10
    )
    assert key.base64_blob.encode() in search.stdout


@given(
    st.text(max_size=200) | st.sampled_from(sorted(REFUSED_KEYS.values())).flatmap(lambda text: st.just(text + LINE))
)
def test_any_text_is_a_key_or_refused(text: str) -> None:
    try:
        key = parse_host_key(text)
    except ValueError:
        return
    assert isinstance(key, HostKey)
    assert build_known_line("gpu1", key) == f"gpu1 {' '.join(text.split()[:2])}\n"


def test_a_blob_of_another_type_is_refused() -> None:
    for blob in (encode("ssh-rsa"), encode("ssh-ed25519x"), base64.b64encode(b"\xff\xff\xff\xff").decode(), "===="):
        with pytest.raises(ValueError, match="key"):
            build_host_key("ssh-ed25519", blob)
