"""Servers that behave badly after TCP has connected: each is given up in time, with the reason, and none raises more.

The server is Paramiko's own, on a loopback port; the limits are shortened.
"""

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import paramiko
import pytest

from gpustack.ask.transport import ssh
from gpustack.ask.transport.execute import Command, execute_command
from gpustack.ask.transport.known_hosts import KnownKeys
from gpustack.ask.transport.refusal import HostRefused
from gpustack.ask.transport.ssh_options import SshOptions, build_login_command, resolve_options
from gpustack.config.host import Host

LIMIT = 2  # whole seconds, as Fabric takes them
Play = Callable[["Server", Any], None]


class Server(paramiko.ServerInterface):  # type: ignore[misc] # Paramiko has no types
    """Lets the key in, slowly if asked to, and leaves the command to `play`."""

    def __init__(self, play: Play | None, login: float) -> None:
        self.play, self.login = play, login

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        time.sleep(self.login)
        return int(paramiko.AUTH_SUCCESSFUL)

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return int(paramiko.OPEN_SUCCEEDED)

    def check_channel_exec_request(self, channel: Any, command: bytes) -> bool:
        if self.play is None:
            time.sleep(4 * LIMIT)
            return False
        threading.Thread(target=self.play, args=(self, channel), daemon=True).start()
        return True


def answer_lines(server: Server, channel: Any) -> None:
    channel.recv(65536)
    channel.sendall(b"one\ntwo\n")
    channel.send_exit_status(0)
    channel.close()


def close_output(server: Server, channel: Any) -> None:
    channel.sendall(b"one\n")
    channel.shutdown_write()
    time.sleep(4 * LIMIT)


def break_connection(server: Server, channel: Any) -> None:
    channel.sendall(b"one\n")
    time.sleep(0.5)
    channel.get_transport().sock.close()


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Host]]:
    """`start(play, login=seconds)` gives a host; without `play` its exec is never answered."""
    monkeypatch.setattr(ssh, "CONNECT_LIMIT", LIMIT)
    key = paramiko.RSAKey.generate(2048)
    key.write_private_key_file(str(tmp_path / "key"))
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n")
    transports: list[paramiko.Transport] = []

    def serve(play: Play | None, login: float) -> None:
        connection, _ = listener.accept()
        transport = paramiko.Transport(connection)
        transport.add_server_key(key)
        transports.append(transport)
        transport.start_server(event=threading.Event(), server=Server(play, login))

    def build_host(play: Play | None, *, login: float = 0.0, silent: bool = False) -> Host:
        if not silent:
            threading.Thread(target=serve, args=(play, login), daemon=True).start()
        ssh_options = (
            "-F",
            "/dev/null",
            "-o",
            f"UserKnownHostsFile={tmp_path / 'known_hosts'}",
            "-o",
            "IdentityAgent=none",
        )
        return Host("h1", "127.0.0.1", port=port, user="ops", key_file=str(tmp_path / "key"), ssh_args=ssh_options)

    yield build_host
    for transport in transports:
        transport.close()
    listener.close()


def query_host(host: Host, limit: float = LIMIT) -> tuple[list[str], str, str]:
    """Return lines, reference and reason. Fail when it takes longer than all limits together."""
    began = time.monotonic()
    lines: list[str] = []
    try:
        lines += execute_command(host, Command("true", b"a script", limit))
    except HostRefused as refusal:
        return lines, refusal.reach.reference, refusal.reach.reason
    finally:
        assert time.monotonic() - began < 3 * LIMIT + 1
    return lines, "", ""


def test_a_host_that_answers_is_read(start: Callable[..., Host]) -> None:
    assert query_host(start(answer_lines), 20) == (["one", "two"], "", "")


def test_a_host_that_accepts_and_says_nothing_is_unreachable(start: Callable[..., Host]) -> None:
    host = start(None, silent=True)
    lines, reference, reason = query_host(host)
    assert (lines, reference) == ([], "host-ssh-unreachable")
    assert reason == f"no answer from [127.0.0.1]:{host.port} within {LIMIT} s"


def test_a_login_that_takes_for_ever_is_no_refusal(start: Callable[..., Host]) -> None:
    lines, reference, reason = query_host(start(answer_lines, login=4 * LIMIT))
    assert (lines, reference) == ([], "host-ssh-unreachable")
    assert reason.startswith("no answer from")


def test_a_host_that_never_answers_the_command_is_unreachable(start: Callable[..., Host]) -> None:
    lines, reference, reason = query_host(start(None))
    assert (lines, reference) == ([], "host-ssh-unreachable")
    assert reason.startswith("no answer from")


def test_a_program_that_closes_its_output_and_lives_on_is_ended(start: Callable[..., Host]) -> None:
    assert query_host(start(close_output)) == (["one"], "", "")


def test_a_connection_that_breaks_off_keeps_the_lines_so_far(start: Callable[..., Host]) -> None:
    """The lines that had come count; a probe without an answer says so itself."""
    lines, reference, _ = query_host(start(break_connection), 20)
    assert lines == ["one"]
    assert reference in ("", "host-ssh-unreachable")


def read_host_keys(start_folder: Path) -> tuple[str, str]:
    """Read the server's key and another one, as known_hosts has them."""
    own_key, other_key = paramiko.RSAKey(filename=str(start_folder / "key")), paramiko.RSAKey.generate(2048)
    return f"ssh-rsa {own_key.get_base64()}", f"ssh-rsa {other_key.get_base64()}"


LET_IN = [
    "{where} {own}",
    "*.0.0.*,[127.0.0.*]:* {own}",
    "{where} {other}\n{where} {own}",
    "@cert-authority * {other}\n{where} {own}",
    "@revoked {where} {other}\n{where} {own}",
    "@revoked elsewhere {own}\n{where} {own}",
    "{where} ssh-rsa %%%\nspoiled\n{where} {own} of ops",
]
KEPT_OUT = [
    ("", "host-key-unknown", "is not known"),
    ("elsewhere {own}", "host-key-unknown", "is not known"),
    ("*,!{where} {own}", "host-key-unknown", "is not known"),
    ("{where} {other}", "host-key-changed", "another than the known one"),
    ("@revoked * {own}\n{where} {own}", "host-key-revoked", "marked @revoked"),
    ("{where} {own}\n@revoked {where} {own}", "host-key-revoked", "marked @revoked"),
    ("@revoked {where} {other}", "host-key-unknown", "is not known"),
    ("@cert-authority * {other}", "host-key-unknown", "certificates are not read here"),
    ("@cert-authority * {own}", "host-key-unknown", "certificates are not read here"),
    ("@cert-authority %%% %%%\n@revoked\n@other {where} {own}", "host-key-unknown", "is not known"),
]


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("known_hosts", LET_IN)
def test_known_keys_let_in(start: Callable[..., Host], tmp_path: Path, known_hosts: str, hashed: bool) -> None:
    host = start(answer_lines)
    write_known(tmp_path, host, known_hosts, hashed=hashed)
    assert query_host(host, 20) == (["one", "two"], "", "")


@pytest.mark.parametrize(("known_hosts", "reference", "reason"), KEPT_OUT)
def test_no_other_key_is_let_in_and_none_ends_in_a_traceback(
    start: Callable[..., Host], tmp_path: Path, known_hosts: str, reference: str, reason: str
) -> None:
    host = start(answer_lines)
    write_known(tmp_path, host, known_hosts)
    lines, actual_reference, text = query_host(host, 20)
    assert (lines, actual_reference) == ([], reference)
    assert reason in text
    assert f"[127.0.0.1]:{host.port}" in text


def write_known(folder: Path, host: Host, known_hosts: str, *, hashed: bool = False) -> None:
    own_key, other_key = read_host_keys(folder)
    file = folder / "known_hosts"
    file.write_text(known_hosts.format(where=f"[127.0.0.1]:{host.port}", own=own_key, other=other_key) + "\n")
    if hashed:
        subprocess.run(["ssh-keygen", "-H", "-f", str(file)], check=False, capture_output=True, timeout=30)


def test_an_alias_is_the_name_in_known_hosts(start: Callable[..., Host], tmp_path: Path) -> None:
    host = start(answer_lines)
    host = replace(host, ssh_args=(*host.ssh_args, "-o", "HostKeyAlias=gpu1"))
    write_known(tmp_path, host, "gpu1 {own}")
    assert query_host(host, 20) == (["one", "two"], "", "")


def test_where_an_authority_is_known_the_key_can_be_added(start: Callable[..., Host], tmp_path: Path) -> None:
    host = start(answer_lines)
    write_known(tmp_path, host, "@cert-authority * {other}")
    with pytest.raises(HostRefused) as excinfo:
        list(execute_command(host, Command("true", b"", 20)))
    assert excinfo.value.reach.hint.startswith(f"gpustack trust {host.name} ")
    own_key = paramiko.RSAKey(filename=str(tmp_path / "key")).get_base64()
    assert isinstance(excinfo.value, ssh.UnknownHostKey)
    assert (excinfo.value.kind, excinfo.value.base64_blob, excinfo.value.certified) == ("ssh-rsa", own_key, True)


def test_the_command_that_forgets_a_key_is_for_this_port_and_file(start: Callable[..., Host], tmp_path: Path) -> None:
    """The address alone would name the key of whoever answers on port 22."""
    host = start(answer_lines)
    write_known(tmp_path, host, "{where} {other}")
    with pytest.raises(HostRefused) as excinfo:
        list(execute_command(host, Command("true", b"", 20)))
    text, _, _ = excinfo.value.reach.hint.partition("    #")
    assert text == f"ssh-keygen -R '[127.0.0.1]:{host.port}' -f {tmp_path / 'known_hosts'}"


def test_a_key_file_that_is_not_there_is_named(start: Callable[..., Host], tmp_path: Path) -> None:
    host = replace(start(None, silent=True), key_file="/nowhere/key")
    options = resolve_options(host)
    reach = ssh.describe_failure(host, options, paramiko.AuthenticationException("no"))
    assert (reach.reference, "there is no /nowhere/key" in reach.reason) == ("host-ssh-login", True)
    host_with_key = replace(host, key_file=str(tmp_path / "key"))
    assert (
        "there is no" not in ssh.describe_failure(host_with_key, options, paramiko.AuthenticationException("no")).reason
    )


def fail_command(server: Server, channel: Any) -> None:
    channel.recv(1)  # before that the request may not be answered yet
    channel.sendall_stderr(b"no shell for you\n")
    channel.send_exit_status(3)
    channel.close()


def test_no_shell_is_tried_with_user_port_and_key(start: Callable[..., Host]) -> None:
    host = start(fail_command)
    with pytest.raises(HostRefused) as excinfo:
        list(execute_command(host, Command("true", b"", 20, "mark")))
    assert excinfo.value.reach.reference == "host-no-shell"
    hint = excinfo.value.reach.hint
    assert f"-p {host.port}" in hint
    assert f"-l {host.user}" in hint
    assert hint.endswith(" 127.0.0.1 true")


def test_words_of_the_inventory_are_quoted_in_commands() -> None:
    """A hint is made to be pasted."""
    assert build_login_command(Host("h", "h$(id)", user="a b;id")) == "ssh -l 'a b;id' 'h$(id)' true"
    host = Host("h", "127.0.0.1", ssh_args=("-F", "/nowhere;id"))
    with pytest.raises(HostRefused) as excinfo:
        resolve_options(host)
    assert excinfo.value.reach.hint == "ssh -G -F '/nowhere;id' 127.0.0.1"
    odd = SshOptions("h;id", 2222, "a b", (), (Path("/x y"),), "", "", identities_only=False, agent=False)
    assert odd.destination == ("-p", "2222", "a b@h;id")
    assert odd.build_keygen_command("-R", note="x") == "ssh-keygen -R '[h;id]:2222' -f '/x y'    # x"


def test_a_key_of_a_known_type_is_asked_for(tmp_path: Path) -> None:
    """A host has keys of several types, and shows one."""
    near, far = socket.socketpair()
    with near, far:
        transport = ssh.build_transport(KnownKeys({"AAAA": "ssh-rsa"}, frozenset(), authority=False), near)
        kinds = list(transport.get_security_options().key_types)
        transport.close()
    assert kinds[0].startswith("rsa-sha2-")
    assert "ssh-ed25519" in kinds
