"""Running a script as root on the local host, and what sudo's words mean."""

import os
import queue
import subprocess
import threading
import time
from pathlib import Path

import pytest

from gpustack.ask.transport.execute import (
    Command,
    build_root_command,
    build_stdin,
    execute_command,
    interact,
    run_script,
)
from gpustack.ask.transport.refusal import HostRefused, parse_sudo_refusal
from gpustack.config.ansible.connection import SUDOS
from gpustack.config.host import Host

LOCAL_HOST = Host("here", "127.0.0.1", connection="local")
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or sudo without a password")


@root
def test_local_lines_arrive() -> None:
    assert [line.strip() for line in run_script(LOCAL_HOST, "echo one; echo two; id -u")] == ["one", "two", "0"]


@root
def test_a_script_beyond_the_limit_ends_there() -> None:
    assert [line.strip() for line in run_script(LOCAL_HOST, "echo one; sleep 30; echo two", limit=1)] == ["one"]


@root
def test_a_child_that_holds_the_error_output_open_is_not_waited_for() -> None:
    start = time.monotonic()
    assert list(run_script(LOCAL_HOST, "sleep 20 >/dev/null & echo one; echo error >&2")) == ["one", "error"]
    assert time.monotonic() - start < 10


def test_a_shell_that_is_killed_is_none() -> None:
    with pytest.raises(HostRefused) as excinfo:
        list(execute_command(LOCAL_HOST, Command("kill -9 $$", b"echo one\n", first="mark")))
    assert (excinfo.value.reach.reference, excinfo.value.reach.reason) == (
        "host-no-shell",
        "the shell ended with 137: ",
    )


@root
def test_interact_writes_until_none() -> None:
    second_queue: queue.Queue[bytes | None] = queue.Queue()
    lines = interact(LOCAL_HOST, "echo up; while read -r l; do echo got $l; done; echo end", second_queue)
    assert next(lines).strip() == "up"
    second_queue.put(b"x\n")
    assert next(lines).strip() == "got x"
    threading.Timer(0.1, second_queue.put, [None]).start()
    assert [line.strip() for line in lines] == ["end"]


def test_the_password_is_in_stdin_only() -> None:
    mark, secret = "abc", "hunter2"
    assert secret not in build_root_command(mark, password=True)
    assert build_stdin("echo hi\n", mark, secret).decode() == f"{secret}\n{mark}\necho hi\n"


@pytest.mark.parametrize("sudo", SUDOS)
def test_the_sudo_of_the_inventory_is_run(sudo: str, tmp_path: Path) -> None:
    """The login is not root, and the programs are ours."""
    for name, text in (("id", "echo 1000"), (Path(sudo).name, 'echo "$0 $*"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    command = build_root_command("abc", password=True, sudo=sudo).replace("/usr/bin", str(tmp_path))
    env = {"PATH": f"{tmp_path}:/bin:/usr/bin"}
    ran = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, timeout=20, check=True).stdout
    assert ran.startswith(f"{tmp_path / Path(sudo).name} -S -p  sh -c")


@root
def test_a_password_line_that_sudo_did_not_want_does_not_reach_the_shell() -> None:
    host = Host("here", "127.0.0.1", connection="local", become_password="hunter2")
    assert [line.strip() for line in run_script(host, "echo one")] == ["one"]


@pytest.mark.parametrize(
    ("errors", "password", "reference"),
    [
        ("sudo: a password is required\n", None, "host-sudo-password"),
        ("sudo: 1 incorrect password attempt\n", "x", "host-sudo-password"),
        ("ops is not in the sudoers file.  This incident will be reported.\n", "x", "host-sudo-password"),
        ("Sorry, user ops is not allowed to execute '/bin/sh -c true' as root on gpu1.\n", None, "host-sudo-password"),
        ("Sorry, user ops is not allowed to run sudo on gpu1.\n", None, "host-sudo-password"),
        ("GPUSTACK-NO-SUDO\n", None, "host-no-sudo"),
    ],
)
def test_words_of_sudo_are_told_apart(errors: str, password: str | None, reference: str) -> None:
    refusal = parse_sudo_refusal(Host("h", "h", become_password=password), errors, 1)
    assert isinstance(refusal, HostRefused)
    assert refusal.reach.reference == reference
    assert "x" not in refusal.reach.hint.split() or password is None


def test_of_a_login_that_may_not_use_sudo_its_words_are_shown() -> None:
    """A password would not help, so none is asked for."""
    text = "We trust you have received the usual lecture\n\nops is not in the sudoers file.\n"
    refusal = parse_sudo_refusal(Host("h", "h", become_password="x"), text, 1)
    assert refusal
    assert refusal.reach.reason == "ops is not in the sudoers file."
    assert "-K" not in refusal.reach.hint


def test_output_on_stderr_alone_is_no_refusal() -> None:
    assert parse_sudo_refusal(Host("h", "h"), "sudo: setrlimit(RLIMIT_CORE): not permitted\n", 0) is None
