"""scripts/demo with a gpustack that only says what it is asked: hosts and bundle come at the same time."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUB = """#!/bin/sh
echo "$*" >>calls
case "$*" in
    "bundle build"*)
        until [ -e hosts ]; do sleep 0.02; done
        [ -z "$FOREVER" ] || exec sleep 600
        echo /cache/bundle
        exit ${BUNDLE:-0} ;;
    *--mirror*) ;;
    "lab up"*) touch hosts; exit ${HOSTS:-0} ;;
    "lab status") echo "demo-$(pwd | cksum | cut -d' ' -f1)  10.77.3.0/24  /state/inventory" ;;
    plan) exit 1 ;;
    install*) echo "nothing to do" ;;
esac
"""


def run_demo(folder: Path, *, limit: float = 30.0, **env: str) -> tuple[int, list[str]]:
    """Return the exit status and the calls of gpustack."""
    (folder / "scripts").mkdir()
    (folder / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "demo", folder / "scripts")
    (folder / ".venv" / "bin" / "gpustack").write_text(STUB)
    (folder / ".venv" / "bin" / "gpustack").chmod(0o755)
    (folder / "tmp").mkdir()
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder / "tmp")} | env
    process = subprocess.run([folder / "scripts" / "demo"], env=env, capture_output=True, timeout=limit, check=False)
    assert list((folder / "tmp").iterdir()) == []
    return process.returncode, (folder / "calls").read_text().splitlines()


def test_hosts_boot_while_the_bundle_is_built_once(tmp_path: Path) -> None:
    status, calls = run_demo(tmp_path)
    assert status == 0
    assert len([call for call in calls if call.startswith("bundle build")]) == 1
    bare, mirrored_call = [call for call in calls if call.startswith("lab up")]
    assert mirrored_call == f"{bare} --mirror /cache/bundle"
    assert [call.split()[0] for call in calls[-6:]] == ["plan", "install", "verify", "prove", "install", "lab"]


def test_without_hosts_nothing_goes_on_to_compile(tmp_path: Path) -> None:
    status, calls = run_demo(tmp_path, HOSTS="9", FOREVER="yes")
    assert status == 9
    assert calls[-1].startswith("lab down --force")


@pytest.mark.parametrize("failure", ["9", "3"])
def test_a_bundle_that_fails_ends_the_demo_and_its_hosts(tmp_path: Path, failure: str) -> None:
    status, calls = run_demo(tmp_path, BUNDLE=failure)
    assert status == int(failure)
    assert calls[-1].startswith("lab down --force")
    assert "plan" not in calls
