"""way-out.sh with the real curl, the real apt and real proxies: one that refuses is told before anything of the spec is
on a host."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from gpustack.ask.egress import APT, APT_LOGIN, AUTHORITIES, ENVIRONMENT, MIRROR_LOGIN
from tests.lab.interception import Authority
from tests.unit.steps.test_fetch_refused import run_refusing_proxy
from tests.unit.steps.way_out_proxies import (
    FILES,
    KEY,
    NAME,
    NO_LOGIN,
    PASSWORD,
    SUMS,
    USER,
    ask,
    read_refusal,
    run_closing_proxy,
    run_origin,
    run_proxy_to,
)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    (tmp_path / "authority").mkdir()
    return Authority(tmp_path / "authority")


@pytest.mark.parametrize(
    ("status", "url", "reason"),
    [
        (407, KEY, "the proxy wants another login (407); look at proxy.user and proxy.password_file of the spec"),
        (407, SUMS, "the proxy wants another login (407); look at proxy.user and proxy.password_file of the spec"),
        (502, KEY, f"the proxy opens no way to {NAME} (502); ask who runs it, or look at proxy of the spec"),
        (502, SUMS, f"{NAME} answers, and refuses this (502); look at proxy and source of the spec"),
        (200, SUMS, "a page of HTML came in its place, as from a proxy or portal that wants a login"),
        (200, KEY, f"something in between answers in place of {NAME}, and not with TLS; ask who runs it"),
    ],
)
def test_a_proxy_that_refuses_is_told(tmp_path: Path, status: int, url: str, reason: str) -> None:
    with run_refusing_proxy(status) as proxy:
        process = ask(tmp_path, url, proxy=NO_LOGIN.format(proxy))
    assert read_refusal(process, url).startswith(reason)


@pytest.mark.parametrize("url", [KEY, SUMS])
def test_a_proxy_that_ends_the_connection_is_told(tmp_path: Path, url: str) -> None:
    with run_closing_proxy() as proxy:
        process = ask(tmp_path, url, proxy=NO_LOGIN.format(proxy))
    words = "the proxy, or pkgs.example.com itself where no_proxy has it, ended the connection"
    assert read_refusal(process, url).startswith(words)


def test_a_proxy_that_is_not_there_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    process = ask(tmp_path, KEY, proxy=NO_LOGIN.format(f"http://127.0.0.1:{port}"))
    assert "takes no connection" in read_refusal(process, KEY)


def test_a_proxy_whose_name_is_not_known_is_told(tmp_path: Path) -> None:
    """A part of a name has 63 characters at most (RFC 1035, 2.3.4), so no name server is asked for this one."""
    process = ask(tmp_path, KEY, proxy=NO_LOGIN.format(f"http://{'p' * 64}.example.com:3128"))
    assert read_refusal(process, KEY).startswith("the proxy's name is not known")


def test_another_login_than_the_proxy_has_is_told(tmp_path: Path) -> None:
    with run_origin() as port, run_proxy_to(port) as (proxy, url):
        assert ask(tmp_path, SUMS, proxy=NO_LOGIN.format(url)).returncode == 0
        proxy.expect(USER, "another")
        refusal = read_refusal(ask(tmp_path, SUMS, proxy=NO_LOGIN.format(url)), SUMS)
    assert "proxy.password_file" in refusal
    assert proxy.refused_targets
    assert set(proxy.refused_targets + proxy.served_targets) == {SUMS}


@pytest.mark.parametrize("url", [SUMS, f"http://{NAME}/old/SHA256SUMS"])
def test_a_proxy_that_leads_out_is_right(tmp_path: Path, url: str) -> None:
    with run_origin() as port, run_proxy_to(port) as (proxy, address):
        process = ask(tmp_path, url, proxy=NO_LOGIN.format(address))
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
    assert proxy.served_targets == [url]


def test_another_file_than_the_expected_one_is_told(tmp_path: Path) -> None:
    url = f"http://{NAME}/strange/SHA256SUMS"
    with run_origin() as port, run_proxy_to(port) as (_, address):
        process = ask(tmp_path, url, proxy=NO_LOGIN.format(address))
    assert read_refusal(process, url).startswith("another file came in its place")


def test_a_proxy_with_a_ca_of_its_own_is_trusted_by_the_file_of_the_spec(tmp_path: Path, authority: Authority) -> None:
    """The host does not trust it yet, and is not made to."""
    with run_origin(authority) as port, run_proxy_to(port) as (_, address):
        settings = NO_LOGIN.format(address)
        refusal = read_refusal(ask(tmp_path, KEY, proxy=settings), KEY)
        assert refusal.startswith(f"the certificate of {NAME} is not trusted; name its CA in proxy.ca_file")
        certificate = authority.certificate_file.read_text()
        process = ask(tmp_path, KEY, proxy=settings, authority=certificate)
    assert (process.returncode, process.stderr) == (0, "")
    assert certificate not in (tmp_path / "host" / "bundle").read_text()


def test_nothing_is_asked_where_the_host_has_the_files(tmp_path: Path) -> None:
    with run_refusing_proxy(407) as proxy:
        settings = NO_LOGIN.format(proxy)
        assert ask(tmp_path, SUMS, proxy=settings).returncode == 1
        (tmp_path / "host" / "proxy.env").write_text(settings)
        assert ask(tmp_path, SUMS, proxy=settings).returncode == 0
        assert ask(tmp_path, SUMS, proxy=settings, login=f"machine http://{NAME} login a password b\n").returncode == 1


@pytest.fixture
def path_without_curl(tmp_path: Path) -> str:
    """curl is among the packages of step prereqs; apt is on every host."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("base64", "cat", "grep", "head", "hostname", "mkdir", "mktemp", "rm", "sed", "sh"):
        (folder / program).symlink_to(str(shutil.which(program)))
    return str(folder)


def render_apt_files(address: str, login: str = "") -> dict[str, str]:
    """Render what apt gets, as gpustack/ask/egress.py does."""
    lines = "".join(f'Acquire::{scheme}::Proxy "{address}";\n' for scheme in ("http", "https"))
    return {"proxy": NO_LOGIN.format(address), "apt": lines, "apt_login": login}


@pytest.mark.parametrize(
    ("status", "url", "reason"),
    [
        (407, KEY, "the proxy wants another login (407)"),
        (407, SUMS, "the proxy wants another login (407)"),
        (502, KEY, f"the proxy opens no way to {NAME} (502)"),
        (502, SUMS, f"{NAME} answers, and refuses this (502)"),
        (200, SUMS, "a page of HTML came in its place"),
        (200, KEY, f"something in between answers in place of {NAME}, and not with TLS"),
    ],
)
def test_a_host_without_curl_asks_by_apt(
    tmp_path: Path, path_without_curl: str, status: int, url: str, reason: str
) -> None:
    with run_refusing_proxy(status) as proxy:
        process = ask(tmp_path, url, path=path_without_curl, **render_apt_files(proxy))
    assert read_refusal(process, url).startswith(reason)


def test_apt_is_given_the_login_of_the_proxy_and_believes_any_server(
    tmp_path: Path, path_without_curl: str, authority: Authority
) -> None:
    with run_origin(authority) as port, run_proxy_to(port) as (proxy, _):
        address = f"http://127.0.0.1:{proxy.server_address[1]}"
        files = render_apt_files(address, f"machine {address} login {USER} password {PASSWORD}\n")
        process = ask(tmp_path, KEY, path=path_without_curl, **files)
        assert (process.returncode, process.stderr) == (0, "")
        proxy.expect(USER, "another")
        assert "(407)" in read_refusal(ask(tmp_path, KEY, path=path_without_curl, **files), KEY)
    refusal = read_refusal(ask(tmp_path, KEY, path=path_without_curl, **files), KEY)
    assert "takes no connection" in refusal
    files = render_apt_files(f"http://{'p' * 64}.example.com:3128")
    assert "the proxy's name is not known" in read_refusal(ask(tmp_path, KEY, path=path_without_curl, **files), KEY)


CURL = """#!/bin/sh
{ echo "arguments $*"; tr '\\0' '\\n' </proc/$$/environ; } >>"$TMPDIR/../seen"
cat >"$TMPDIR/../read"
printf '000 401'
exit 22
"""


def test_no_argument_and_no_variable_of_the_environment_has_a_login(tmp_path: Path) -> None:
    (tmp_path / "curl").write_text(CURL)
    (tmp_path / "curl").chmod(0o755)
    login = f"machine https://{NAME} login kube password {PASSWORD}\n"
    settings = NO_LOGIN.format(f"http://kube:{PASSWORD}@127.0.0.1:1")
    process = ask(tmp_path, KEY, path=f"{tmp_path}:{os.environ['PATH']}", proxy=settings, login=login)
    assert "source.password_file" in read_refusal(process, KEY)
    assert PASSWORD not in (tmp_path / "host" / "seen").read_text()
    lines = (tmp_path / "host" / "read").read_text()
    assert f'proxy = "http://kube:{PASSWORD}@127.0.0.1:1"' in lines
    assert f'user = "kube:{PASSWORD}"' in lines


def test_files_are_known_to_the_script_by_the_end_of_their_paths() -> None:
    script = (FILES / "way-out.sh").read_text()
    for path in (ENVIRONMENT, MIRROR_LOGIN, APT, APT_LOGIN):
        assert f"*/{Path(path).name})" in script
    assert {str(Path(path).parent.name) for path in AUTHORITIES.values()} == {"ca-certificates"}
    assert "*/ca-certificates/*)" in script
