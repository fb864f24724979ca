"""The sudo password: typed on a terminal alone, and shown neither by the progress nor by an error."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask import gather as gathering
from gpustack.ask.transport.refusal import parse_sudo_refusal
from gpustack.cli import error_handler
from gpustack.cli.app import app
from gpustack.config.host import Host

PASSWORD = "p1um & Tart"
GROUPS = "[kube_control_plane]\nkube1\n[kube_node]\nkube1\n"


def refuse_login(host: Host, *_: object, **__: object) -> object:
    error = parse_sudo_refusal(host, f"sudo: your password {host.become_password} is wrong\n", 1)
    assert error
    raise error


@pytest.mark.parametrize("typed", [True, False], ids=["-K", "ansible_become_password"])
def test_a_password_that_sudo_repeats_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, typed: bool
) -> None:
    inventory = tmp_path / "hosts.ini"
    text = "" if typed else f'[all:vars]\nansible_become_password="{PASSWORD}"\n'
    inventory.write_text(GROUPS + text)
    monkeypatch.setattr(error_handler, "known_secrets", [])
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: PASSWORD)
    monkeypatch.setitem(gathering.gather.__kwdefaults__ or {}, "ask", refuse_login)
    with pytest.raises(SystemExit) as excinfo, error_handler.report_errors():
        app(["plan", "-i", str(inventory), *(["-K"] if typed else [])], standalone_mode=False)
    err = capsys.readouterr().err
    assert excinfo.value.code == 4
    assert err.count("sudo: your password REDACTED is wrong") == 2
    assert PASSWORD not in err


@pytest.mark.parametrize("text", ["", f"{PASSWORD}\n"], ids=["nothing", "the password"])
def test_without_a_terminal_no_password_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "hosts.ini").write_text(GROUPS)
    command = [sys.executable, "-m", "gpustack.cli.app", "plan", "-K", "-i", "hosts.ini"]
    env = os.environ | {"HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])}
    values: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 60}
    # In a session of its own it has no terminal, wherever the tests run.
    process = subprocess.run(command, cwd=tmp_path, env=env, input=text, check=False, start_new_session=True, **values)
    assert process.returncode == 2, process.stderr
    first, *_, last = process.stderr.splitlines()
    assert first == "error: The sudo password was not typed; nothing was read or changed."
    assert last == "more:  gpustack explain password-not-typed"
