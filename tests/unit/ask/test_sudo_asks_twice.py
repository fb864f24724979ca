"""A sudo that wants more than the password: nothing of ours is run, and it is reported."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.transport.execute import build_root_command, build_stdin
from gpustack.ask.transport.refusal import parse_sudo_refusal
from gpustack.config.host import Host

HOST = Host("h1", "192.0.2.11", become_password="hunter2")
RUN = 'while [ "$1" != sh ]; do shift; done; exec "$@"'
TAKES = f"read -r one; printf 'Code: ' >&2; read -r two; {RUN}"
# As sudo does, three times.
REFUSES = """for at in 1 2 3; do read -r line; echo 'Sorry, try again.' >&2; done
echo 'sudo: 3 incorrect password attempts' >&2; exit 1"""
ENDS = "cat >/dev/null; echo 'sudo: no password was provided' >&2; echo 'sudo: a password is required' >&2; exit 1"


def run(world: Path, sudo: str) -> subprocess.CompletedProcess[str]:
    for name, text in (("id", "echo 1000"), ("sudo", sudo)):
        (world / name).write_text(f"#!/bin/sh\n{text}\n")
        (world / name).chmod(0o755)
    stdin = build_stdin('echo run >>"$WORLD/run"; echo out', "abc", HOST.become_password).decode()
    env = {"PATH": f"{world}:{os.environ['PATH']}", "WORLD": str(world)}
    command = ["sh", "-c", build_root_command("abc", password=True)]
    return subprocess.run(command, input=stdin, env=env, capture_output=True, text=True, timeout=20, check=False)


@pytest.mark.parametrize(
    ("sudo", "reason"),
    [(TAKES, "asks for more than a password"), (REFUSES, "3 incorrect"), (ENDS, "sudo: no password was provided")],
)
def test_nothing_is_run_and_it_is_reported(sudo: str, reason: str, tmp_path: Path) -> None:
    process = run(tmp_path, sudo)
    assert not (tmp_path / "run").exists()
    assert "abc" not in process.stdout.split()
    refusal = parse_sudo_refusal(HOST, process.stderr, process.returncode)
    assert refusal
    assert refusal.reach.reference == "host-sudo-password"
    assert reason in refusal.reach.reason
    assert "hunter2" not in f"{process.stdout}{process.stderr}{refusal.reach}"


@pytest.mark.parametrize("sudo", [RUN, f"read -r one; {RUN}"], ids=["asks for nothing", "asks for the password"])
def test_one_that_asks_once_or_not_at_all_runs_it(sudo: str, tmp_path: Path) -> None:
    process = run(tmp_path, sudo)
    assert process.stdout.split() == ["abc", "out"], process.stderr
