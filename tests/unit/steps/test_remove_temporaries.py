"""remove-temporaries.sh, and the probe that looks for what it removes, with homes of our own."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import Lines
from gpustack.config.resources import locate_playbooks
from gpustack.probes.kubernetes.cluster_leftovers import TEMPORARIES

SCRIPT = (locate_playbooks() / "roles" / "prereqs" / "files" / "remove-temporaries.sh").read_text()
PROGRAMS = {
    "getent": 'shift; for user; do echo "$user:x:0:0::$WORLD/$user:/bin/sh"; done',
    # runuser -u USER -- COMMAND…, which only root may call.
    "runuser": 'user=$2; shift 3; BECAME=$user exec "$@"',
    "rm": 'echo "${BECAME-}" >>"$WORLD/removed-by"; exec /bin/rm "$@"',
}


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """The homes of root and of the login, with what an installation left, and programs before the real ones."""
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    for user in ("root", "ops"):
        leftover = tmp_path / user / ".ansible" / "gpustack" / "ansible-tmp-1"
        leftover.mkdir(parents=True)
        (leftover / "file").touch()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    return tmp_path


def run(world: Path, script: str) -> str:
    env = {"WORLD": str(world), "SUDO_USER": "ops", "PATH": f"{world}:{os.environ['PATH']}"}
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=True, timeout=30)
    assert process.stderr == ""
    return process.stdout


def list_temporaries(world: Path) -> list[str]:
    assert isinstance(TEMPORARIES.question, Lines)
    return [line.removeprefix(f"{world}/") for line in run(world, TEMPORARIES.question.script).splitlines()]


def test_each_users_files_are_removed_by_that_user(world: Path) -> None:
    """root would delete any folder for whoever runs as the login, without its password."""
    assert list_temporaries(world) == [f"{user}/.ansible/gpustack/ansible-tmp-1" for user in ("ops", "root")]
    assert "ansible-tmp-1" in run(world, SCRIPT)
    assert (world / "removed-by").read_text().split() == ["root", "ops"]
    assert list_temporaries(world) == []
    assert run(world, SCRIPT) == ""


def test_a_link_is_not_followed(world: Path) -> None:
    folder = world / "ops" / ".ansible" / "gpustack"
    (folder / "ansible-tmp-1" / "file").unlink()
    (folder / "ansible-tmp-1").rmdir()
    folder.rmdir()
    folder.symlink_to(world / "precious")
    assert list_temporaries(world) == ["root/.ansible/gpustack/ansible-tmp-1"]
    run(world, SCRIPT)
    assert (world / "precious" / "file").exists()
    assert folder.is_symlink()
    assert list_temporaries(world) == []


def test_where_nothing_was_left_nothing_is_done(world: Path) -> None:
    run(world, SCRIPT)
    (world / "root" / ".ansible" / "gpustack").rmdir()
    assert run(world, SCRIPT) == ""
