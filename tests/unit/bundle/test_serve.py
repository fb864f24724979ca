"""Starting and ending the mirror; what it answers is in test_mirror.py."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpustack.bundle import verify
from gpustack.bundle.serve import serve, stop
from gpustack.errors import BundleError
from gpustack_lab.bundle.build import build


def has_ended(pid: int, limit: float = 2.0) -> bool:
    """Tell whether the process ends within so many seconds; one that waits to be reaped has ended."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_it_prints_its_address_and_ends_on_a_signal(shared_bundle: Path, tmp_path: Path) -> None:
    serving = serve(shared_bundle, "127.0.0.1:0", log=tmp_path / "log")
    try:
        assert serving.address == "http://127.0.0.1:65000"
        assert not has_ended(serving.pid, 0.2)
    finally:
        serving.stop()
    assert has_ended(serving.pid)


def test_it_ends_with_a_parent_that_is_killed(shared_bundle: Path) -> None:
    code = "import sys, time; from pathlib import Path; from gpustack.bundle.serve import serve\n"
    code += "print(serve(Path(sys.argv[1]), '127.0.0.1:0').pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, shared_bundle], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    assert has_ended(pid)


def test_left_to_itself_it_stays_until_stopped(shared_bundle: Path, tmp_path: Path) -> None:
    serving = serve(shared_bundle, "127.0.0.1:0", log=tmp_path / "log", attached=False)
    assert os.getsid(serving.pid) == serving.pid
    assert not has_ended(serving.pid, 0.2)
    serving.stop()
    assert has_ended(serving.pid)
    stop(serving.pid)  # twice is fine


def test_a_harmed_bundle_is_not_served(bundle: Path) -> None:
    (bundle / "bin" / "mirror").write_text("#!/bin/sh\necho listening on everything\n")
    with pytest.raises(BundleError) as excinfo:
        serve(bundle, "127.0.0.1:0")
    assert excinfo.value.reference == "bundle-damaged"


@pytest.mark.parametrize("name", ["memfd_create", "fchmod"])
def test_a_program_that_cannot_be_copied_is_reported(
    shared_bundle: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(os, name, fail)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(BundleError, match="does not start") as excinfo:
        serve(shared_bundle, "127.0.0.1:8480")
    assert (excinfo.value.reference, excinfo.value.reason) == (
        "bundle-serve-failed",
        "bin/mirror: Cannot allocate memory",
    )
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_program_that_is_gone_after_the_check_is_reported(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verification = verify.verify(bundle)
    monkeypatch.setattr(verify, "verify", lambda *_, **__: verification)
    (bundle / "bin" / "mirror").unlink()
    with pytest.raises(BundleError) as excinfo:
        serve(bundle, "127.0.0.1:8480")
    assert (excinfo.value.reference, excinfo.value.reason) == (
        "bundle-serve-failed",
        "bin/mirror: No such file or directory",
    )


def test_a_log_that_is_a_link_is_reported(shared_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "other")
    with pytest.raises(BundleError) as excinfo:
        serve(shared_bundle, "127.0.0.1:8480", log=tmp_path / "log")
    assert "it is a link" in excinfo.value.reason
    assert not (tmp_path / "other").exists()


def test_a_mirror_without_its_mode_is_reported(bundle: Path) -> None:
    (bundle / "bin" / "mirror").chmod(0o644)
    with pytest.raises(BundleError) as excinfo:
        serve(bundle, "127.0.0.1:8480")
    assert excinfo.value.reference == "bundle-serve-failed"
    assert "Permission denied" in excinfo.value.reason
    build(bundle)
    serve(bundle, "127.0.0.1:8480").stop()
