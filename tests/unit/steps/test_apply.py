"""apply.sh with a kubectl that is put before it."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import playbooks

SCRIPT = "".join((playbooks() / "files" / name).read_text() for name in ("limits.sh", "apply.sh"))
# While it compares, somebody else on the host plants a link beside every file of ours in the folder for all: who can
# read our names can guess those that are made of them.
KUBECTL = """#!/bin/sh
echo "$*" >>"$WORLD/asked"
while [ $# -gt 1 ]; do case $1 in diff | apply) verb=$1 ;; esac; shift; done
cp "$1" "$WORLD/$verb"
case $verb in
  diff)
    for file in "$TMPDIR"/*; do [ ! -f "$file" ] || ln -s "$WORLD/precious" "$file.said"; done
    [ -e "$WORLD/same" ]
    ;;
  apply) [ ! -e "$WORLD/refused" ] || { cat "$WORLD/refused" >&2; exit 1; }; echo "configmap/a serverside-applied" ;;
esac
"""
OBJECTS = '{"kind":"ConfigMap"}\n{"kind":"ConfigMap","data":{"a":"$HOME `id` {{ b }}"}}'


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "precious").write_text("as it was")
    return tmp_path


def run(world: Path) -> "subprocess.CompletedProcess[str]":
    env = {"WORLD": str(world), "TMPDIR": str(world / "tmp"), "PATH": f"{world}:{os.environ['PATH']}"}
    script = f"{SCRIPT}\nset -eu\napply\n"
    done = subprocess.run(
        ["sh", "-c", script], input=OBJECTS, capture_output=True, text=True, env=env, check=False, timeout=30
    )
    assert list((world / "tmp").iterdir()) == []
    assert (world / "precious").read_text() == "as it was"
    return done


def asked(world: Path) -> list[str]:
    return (world / "asked").read_text().splitlines()


def test_objects_travel_as_they_are_and_under_our_name(world: Path) -> None:
    done = run(world)
    assert (done.returncode, done.stdout) == (0, "changed: configmap/a serverside-applied\n")
    assert (world / "apply").read_text() == OBJECTS
    assert all("--server-side --force-conflicts --field-manager=gpustack" in line for line in asked(world))


def test_nothing_is_done_where_nothing_differs(world: Path) -> None:
    (world / "same").touch()
    assert (run(world).stdout, len(asked(world))) == ("", 1)


def test_what_the_api_refuses_is_reported(world: Path) -> None:
    (world / "refused").write_text("error: is being deleted\n")
    done = run(world)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: is being deleted\n")
