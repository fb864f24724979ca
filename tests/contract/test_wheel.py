"""The built wheel works in an empty environment, away from the checkout, with the libraries of the runtime lock."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path, limit: int = 60, path: str = "/usr/sbin:/usr/bin:/sbin:/bin") -> str:
    """Output of a command whose failure is the test's failure, with its output. Knows nothing of the checkout."""
    foreign = ("GPUSTACK_", "ANSIBLE_", "PYTHON", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {"PATH": path}
    done = subprocess.run([*command], cwd=cwd, env=env, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin/ of an environment that holds the runtime lock and the wheel, nothing else."""
    venv = tmp_path_factory.mktemp("empty") / "venv"
    run(sys.executable, "-m", "venv", venv, cwd=venv.parent)
    lock, uv = ROOT / "requirements" / "runtime.txt", f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run(ROOT / "scripts" / "install-locked", venv / "bin" / "python", lock, cwd=venv, limit=300, path=uv)
    run(venv / "bin" / "python", "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel, cwd=venv)
    return venv / "bin"


def tracked(*folders: str) -> set[str]:
    done = subprocess.run(
        ["git", "ls-files", "--", *folders], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    return {line for line in done.stdout.splitlines() if (ROOT / line).is_file()}


def test_wheel_holds_every_tracked_file_of_the_product(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = tracked("gpustack") | {
        f"gpustack/_data/{name}"
        for name in tracked(
            "playbooks", "values", "docs/alerts.md", "requirements/runtime.txt", "requirements/serve.txt"
        )
    }
    assert sorted(wanted - inside) == []
    assert "gpustack/py.typed" in inside


def test_wheel_holds_no_tests(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"gpustack"}


def test_commands_run_from_it(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "gpustack", "version", cwd=tmp_path).strip()
    assert "containerd" in run(installed / "gpustack", "explain", "containerd", cwd=tmp_path)
    assert "nvidia-smi -L" in run(installed / "gpustack", "explain", "alert-gpulost", cwd=tmp_path)


def test_shipped_data_is_found_in_it(installed: Path, tmp_path: Path) -> None:
    code = "from gpustack.config import resources as r; print(r.locate_playbooks(), r.locate_shipped_values())"
    site = run(installed / "python", "-c", "import gpustack; print(gpustack.__path__[0])", cwd=tmp_path).strip()
    assert run(installed / "python", "-c", code, cwd=tmp_path).split() == [
        f"{site}/_data/playbooks",
        f"{site}/_data/values",
    ]


def test_ansible_reads_the_playbooks_in_it(installed: Path, tmp_path: Path) -> None:
    code = "from gpustack.config.resources import locate_playbooks; print(locate_playbooks())"
    folder = run(installed / "python", "-c", code, cwd=tmp_path).strip()
    output = run(installed / "ansible-playbook", "--syntax-check", f"{folder}/site.yml", cwd=tmp_path)
    assert "playbook:" in output
