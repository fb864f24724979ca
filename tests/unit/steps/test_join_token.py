"""Check that the leftovers of a join go from a worker, and nothing that was there before it."""

import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import playbooks
from tests.worlds.owned_root import OwnedRoot

BOOTSTRAP, JOIN = "/etc/kubernetes/bootstrap-kubelet.conf", "/run/gpustack-join.yaml"
DECLARED = {"file": [JOIN], "data": [BOOTSTRAP]}
FILES = (playbooks() / "files" / "recorded.sh", playbooks() / "roles" / "workers" / "files" / "no-token.sh")


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    return OwnedRoot(tmp_path)


def clear(root: OwnedRoot) -> str:
    script = "\n".join(path.read_text() for path in FILES)
    for path in (BOOTSTRAP, JOIN, "/var/lib/"):
        script = script.replace(f'"{path}', f'"{root.path}{path}').replace(f" {path}", f" {root.path}{path}")
        script = script.replace(f"={path}", f"={root.path}{path}")
    # The record has the paths of the host.
    script = script.replace('"^\\"$2\\"', f'"^\\"${{2#{root.path}}}\\"')
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_join_left_goes(root: OwnedRoot) -> None:
    root.record("begin", DECLARED)
    for path in (BOOTSTRAP, JOIN):
        root.write(path, "a token\n")
    assert len(clear(root).splitlines()) == len((BOOTSTRAP, JOIN))
    assert (root.read(BOOTSTRAP), root.read(JOIN)) == (None, None)
    assert clear(root) == ""


@pytest.mark.parametrize("recorded", [True, False])
def test_a_kubeconfig_for_joining_that_was_there_before_stays(root: OwnedRoot, recorded: bool) -> None:
    root.write(BOOTSTRAP, "of another cluster\n")
    if recorded:
        root.record("begin", DECLARED)
    assert clear(root) == ""
    assert root.read(BOOTSTRAP) == "of another cluster\n"
