"""Servers that behave badly after TCP has connected: each is given up in time, with the reason, and none raises more.

The server is Paramiko's own, on a loopback port; the limits are shortened.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest

from gpustack.ask import ssh
from gpustack.ask.reach import HostRefused
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


def answers(server: Server, channel: Any) -> None:
    channel.recv(65536)
    channel.sendall(b"one\ntwo\n")
    channel.send_exit_status(0)
    channel.close()


def closes_its_output(server: Server, channel: Any) -> None:
    channel.sendall(b"one\n")
    channel.shutdown_write()
    time.sleep(4 * LIMIT)


def breaks_off(server: Server, channel: Any) -> None:
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

    def host(play: Play | None, *, login: float = 0.0, silent: bool = False) -> Host:
        if not silent:
            threading.Thread(target=serve, args=(play, login), daemon=True).start()
        known = ("-F", "/dev/null", "-o", f"UserKnownHostsFile={tmp_path / 'known_hosts'}", "-o", "IdentityAgent=none")
        return Host("h1", "127.0.0.1", port=port, user="ops", key_file=str(tmp_path / "key"), ssh_args=known)

    yield host
    for transport in transports:
        transport.close()
    listener.close()


def asked(host: Host, limit: float = LIMIT) -> tuple[list[str], str, str]:
    """Lines, reference and reason; fails when it takes longer than all limits together."""
    began = time.monotonic()
    lines: list[str] = []
    try:
        lines += ssh.run(host, "true", b"a script", limit)
    except HostRefused as refused:
        return lines, refused.reach.reference, refused.reach.why
    finally:
        assert time.monotonic() - began < 3 * LIMIT + 1
    return lines, "", ""


def test_one_that_answers(start: Callable[..., Host]) -> None:
    assert asked(start(answers), 20) == (["one", "two"], "", "")


def test_one_that_accepts_and_says_nothing(start: Callable[..., Host]) -> None:
    host = start(None, silent=True)
    lines, reference, why = asked(host)
    assert (lines, reference) == ([], "host-ssh-unreachable")
    assert why == f"no answer from [127.0.0.1]:{host.port} within {LIMIT} s"


def test_one_whose_login_takes_for_ever_is_not_one_that_lets_nobody_in(start: Callable[..., Host]) -> None:
    lines, reference, why = asked(start(answers, login=4 * LIMIT))
    assert (lines, reference) == ([], "host-ssh-unreachable")
    assert why.startswith("no answer from")


def test_one_that_never_answers_to_the_command(start: Callable[..., Host]) -> None:
    lines, reference, why = asked(start(None))
    assert (lines, reference) == ([], "host-ssh-unreachable")
    assert why.startswith("no answer from")


def test_one_whose_program_closes_its_output_and_lives_on(start: Callable[..., Host]) -> None:
    assert asked(start(closes_its_output)) == (["one"], "", "")


def test_one_that_breaks_off(start: Callable[..., Host]) -> None:
    """What had come counts; a probe without an answer says so itself."""
    lines, reference, _ = asked(start(breaks_off), 20)
    assert lines == ["one"]
    assert reference in ("", "host-ssh-unreachable")
