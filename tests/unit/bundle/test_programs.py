"""Outside programs: missing, failing, slow, interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpustack.bundle import programs
from gpustack.errors import BundleError
from gpustack_lab.bundle.build import PACKAGES


def test_everything_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BundleError) as excinfo:
        programs.need({name: PACKAGES[name] for name in ("go", "gcc", "apt-ftparchive", "gpg", "setpriv")})
    assert excinfo.value.hint == "apt-get install --no-install-recommends apt-utils gcc gpg util-linux"
    assert "go, gcc, apt-ftparchive, gpg, setpriv" in excinfo.value.reason
    assert "go comes from https://go.dev/dl" in excinfo.value.reason


def test_a_failure_shows_the_last_words() -> None:
    with pytest.raises(BundleError) as excinfo:
        programs.run(["sh", "-c", "echo early; echo reason >&2; exit 3"], limit=10)
    assert (excinfo.value.reference, excinfo.value.reason) == ("bundle-program-failed", "reason")


def test_a_program_has_a_limit() -> None:
    begin = time.monotonic()
    with pytest.raises(BundleError) as excinfo:
        programs.run(["sleep", "30"], limit=0.2)
    assert excinfo.value.reference == "bundle-program-slow"
    assert time.monotonic() - begin < 5


def test_a_program_ends_when_we_are_killed(tmp_path: Path) -> None:
    code = (
        f"from gpustack.bundle.programs import run; run(['sh', '-c', 'echo $$ > {tmp_path}/pid; sleep 60'], limit=60)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert parent.poll() is None
            time.sleep(0.02)
        parent.send_signal(signal.SIGKILL)
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if " Z " in Path(f"/proc/{pid}/stat").read_text():
            return
        time.sleep(0.02)
    pytest.fail(f"{pid} still runs")
