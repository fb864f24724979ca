"""The words that sshd sends during a login are a part of the error when the login ends there."""

from collections.abc import Callable

import paramiko
import pytest

from gpustack.config.host import Host
from tests.unit.ask.test_ssh import Server, answer_lines, query_host, start

__all__ = ["start"]

# Of sshd 9.2 of Debian 12 for an account that `chage -E 0` ended. It closes the connection then.
WORDS = "Your account has expired; please contact your system administrator."


def test_an_error_ends_with_the_words_of_the_host(start: Callable[..., Host], monkeypatch: pytest.MonkeyPatch) -> None:
    def end_connection(server: Server, username: str, key: paramiko.PKey) -> int:
        raise EOFError

    monkeypatch.setattr(Server, "get_banner", lambda server: (f"{WORDS}\n", "en-US"))
    monkeypatch.setattr(Server, "check_auth_publickey", end_connection)
    host = start(answer_lines)
    _, reference, reason = query_host(host)
    assert reference == "host-ssh-login"
    assert reason == f"[127.0.0.1]:{host.port} closed the connection while ops logged in; the host says: {WORDS}"


def test_a_login_with_a_notice_is_no_failure(start: Callable[..., Host], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "get_banner", lambda server: ("Authorized use only.\n", "en-US"))
    assert query_host(start(answer_lines), 20) == (["one", "two"], "", "")
