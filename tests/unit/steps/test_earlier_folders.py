"""What earlier releases put into /etc/gpustack and /var/lib/gpustack is taken over, and nobody else's."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.script import command
from gpustack.config.resources import playbooks
from gpustack.probes.kubernetes.cluster_leftovers import TEMPORARIES
from gpustack.steps.prereqs.step import STEP
from tests.worlds.cases import answers_at, recorded
from tests.worlds.hosts import judged
from tests.worlds.judge import failures

SCRIPT = playbooks() / "roles" / "prereqs" / "files" / "earlier-folders.sh"


def run(text: str, root: Path) -> str:
    """Of a host whose root is a folder."""
    for top in ("/etc/", "/var/lib/"):
        text = text.replace(top, f"{root}{top}")
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True, env=os.environ).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in ("etc/gpustack/images", "etc/gpustack/config.yaml", "var/lib/gpustack/fixes/7/kept", "etc/sysctl.d/x"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    (tmp_path / "etc/sysctl.d/90-gpustack.conf").touch()
    return tmp_path


def test_what_is_ours_moves_and_the_second_run_changes_nothing(root: Path) -> None:
    (root / "etc/gpustack/images").chmod(0o640)
    assert run(SCRIPT.read_text(), root).count("changed: ") == 2
    assert (root / "etc/gpustack-cluster/images").read_text() == "etc/gpustack/images"
    assert (root / "etc/gpustack-cluster/images").stat().st_mode & 0o777 == 0o640
    assert (root / "var/lib/gpustack-cluster/fixes/7/kept").exists()
    assert (root / "etc/gpustack/config.yaml").exists(), "another product's"
    assert not (root / "var/lib/gpustack").exists()
    assert run(SCRIPT.read_text(), root) == ""


def test_what_is_new_wins(root: Path) -> None:
    (root / "etc/gpustack-cluster").mkdir()
    (root / "etc/gpustack-cluster/images").write_text("new")
    run(SCRIPT.read_text(), root)
    assert (root / "etc/gpustack-cluster/images").read_text() == "new"
    assert not (root / "etc/gpustack/images").exists()


def test_a_host_without_our_settings_is_left_alone(root: Path) -> None:
    (root / "etc/sysctl.d/90-gpustack.conf").unlink()
    assert run(SCRIPT.read_text(), root) == ""
    assert (root / "etc/gpustack/images").exists()


def test_the_probe_and_the_role_speak_of_the_same(root: Path) -> None:
    asked = command(TEMPORARIES)
    assert f"{root}/etc/gpustack/images\n{root}/var/lib/gpustack/fixes\n" in run(asked, root)
    run(SCRIPT.read_text(), root)
    assert f"{root}/etc/gpustack" not in run(asked, root)


def test_the_check() -> None:
    found = failures(judged(STEP, answers_at("h1", recorded("leftovers.temporary", "earlier"))))
    assert found == {"temporary-files": ("/etc/gpustack/images, /var/lib/gpustack/charts", "install")}
