"""The built wheels work in an empty environment, away from the checkout, with the libraries of the runtime lock. The
product does without the lab, and the library of logs without everything."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"


def run(
    *command: str | Path, cwd: Path, limit: int = 60, status: int = 0, extra: Path | None = None, path: str = SYSTEM
) -> str:
    """Return the output of a command that knows nothing of the checkout. Fail unless it ends with this status. `extra`
    is a further folder of packages."""
    foreign = ("GPUSTACK_", "ANSIBLE_", "PYTHON", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {"PATH": path}
    if extra:
        env["PYTHONPATH"] = str(extra)
    process = subprocess.run([*command], cwd=cwd, env=env, capture_output=True, text=True, timeout=limit, check=False)
    assert process.returncode == status, f"{command}: {process.stdout}{process.stderr}"
    return process.stderr if status else process.stdout


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin/ of an environment that holds the runtime lock and the wheel, nothing else."""
    venv = tmp_path_factory.mktemp("empty") / "venv"
    run(sys.executable, "-m", "venv", venv, cwd=venv.parent)
    lock, uv = ROOT / "requirements" / "runtime.txt", f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run(ROOT / "scripts" / "install-locked", venv / "bin" / "python", lock, cwd=venv, limit=300, path=uv)
    run(venv / "bin" / "python", "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel, cwd=venv)
    return venv / "bin"


def list_tracked(*folders: str) -> set[str]:
    process = subprocess.run(
        ["git", "ls-files", "--", *folders], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    return {line for line in process.stdout.splitlines() if (ROOT / line).is_file()}


def test_wheel_holds_every_tracked_file_of_the_product(wheel: Path) -> None:
    packed_files = set(zipfile.ZipFile(wheel).namelist())
    expected_files = list_tracked("gpustack") | {
        f"gpustack/_data/{name}"
        for name in list_tracked(
            "playbooks", "values", ":(glob)docs/*.md", "requirements/runtime.txt", "requirements/serve.txt"
        )
    }
    assert sorted(expected_files - packed_files) == []
    assert "gpustack/py.typed" in packed_files


def test_the_wheel_of_the_lab_holds_every_tracked_file_of_it(lab_wheel: Path) -> None:
    packed_files = set(zipfile.ZipFile(lab_wheel).namelist())
    assert sorted({name.removeprefix("lab/") for name in list_tracked("lab/gpustack_lab")} - packed_files) == []


def test_wheels_hold_no_tests_and_nothing_of_each_other(wheel: Path, lab_wheel: Path, logs_wheel: Path) -> None:
    for built_wheel, content in ((wheel, "gpustack"), (lab_wheel, "gpustack_lab"), (logs_wheel, "gpustack_logs.py")):
        tops = {name.split("/")[0] for name in zipfile.ZipFile(built_wheel).namelist()}
        assert {top for top in tops if not top.endswith(".dist-info")} == {content}


def test_every_wheel_has_the_licence(wheel: Path, lab_wheel: Path, logs_wheel: Path) -> None:
    for built_wheel in (wheel, lab_wheel, logs_wheel):
        assert {"LICENSE", "NOTICE"} <= {Path(name).name for name in zipfile.ZipFile(built_wheel).namelist()}


def test_the_library_of_logs_needs_nothing(logs_wheel: Path) -> None:
    archive = zipfile.ZipFile(logs_wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    fields = archive.read(metadata).decode().splitlines()
    assert "Requires-Python: >=3.9" in fields
    assert [line for line in fields if line.startswith("Requires-Dist")] == []


def test_the_versions_are_one_version() -> None:
    product, lab, logs = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"] for folder in (".", "lab", "logs")
    )
    assert lab["version"] == logs["version"] == product["version"]
    assert lab["dependencies"] == [f"gpustack-cluster=={product['version']}"]


def test_commands_run_from_it(bin_folder: Path, tmp_path: Path) -> None:
    assert run(bin_folder / "gpustack", "version", cwd=tmp_path).strip()
    assert "containerd" in run(bin_folder / "gpustack", "explain", "containerd", cwd=tmp_path)
    assert "nvidia-smi -L" in run(bin_folder / "gpustack", "explain", "alert-gpulost", cwd=tmp_path)
    limits = run(bin_folder / "gpustack", "explain", "docs/limits.md", cwd=tmp_path)
    assert limits == (ROOT / "docs" / "limits.md").read_text()


def test_shipped_data_is_found_in_it(bin_folder: Path, tmp_path: Path) -> None:
    code = "from gpustack.config import resources as r; print(r.locate_playbooks(), r.locate_shipped_values())"
    site = run(bin_folder / "python", "-c", "import gpustack; print(gpustack.__path__[0])", cwd=tmp_path).strip()
    assert run(bin_folder / "python", "-c", code, cwd=tmp_path).split() == [
        f"{site}/_data/playbooks",
        f"{site}/_data/values",
    ]


def test_ansible_reads_the_playbooks_in_it(bin_folder: Path, tmp_path: Path) -> None:
    code = "from gpustack.config.resources import locate_playbooks; print(locate_playbooks())"
    folder = run(bin_folder / "python", "-c", code, cwd=tmp_path).strip()
    output = run(bin_folder / "ansible-playbook", "--syntax-check", f"{folder}/site.yml", cwd=tmp_path)
    assert "playbook:" in output


@pytest.mark.parametrize("words", [["lab"], ["lab", "up", "--gpus", "2"], ["bundle", "build"], ["plan", "-i", "lab"]])
def test_without_the_lab_its_commands_say_how_to_get_it(bin_folder: Path, tmp_path: Path, words: list[str]) -> None:
    message = run(bin_folder / "gpustack", *words, cwd=tmp_path, status=2)
    assert "pip install --no-deps ./lab" in message
    assert "gpustack explain lab-not-installed" in message


def test_without_the_lab_its_commands_are_not_listed(bin_folder: Path, tmp_path: Path) -> None:
    assert "\n  lab " not in run(bin_folder / "gpustack", "--help", cwd=tmp_path)
    assert "\n  build " not in run(bin_folder / "gpustack", "bundle", "--help", cwd=tmp_path)
    assert "./lab" in run(bin_folder / "gpustack", "explain", "lab-not-installed", cwd=tmp_path)


def test_the_wheel_of_the_lab_adds_its_commands(bin_folder: Path, lab_wheel: Path, tmp_path: Path) -> None:
    extra = tmp_path / "packages"
    run(bin_folder / "pip", "install", "-q", "--no-deps", "--no-index", "--target", extra, lab_wheel, cwd=tmp_path)
    assert "\n  lab " in run(bin_folder / "gpustack", "--help", cwd=tmp_path, extra=extra)
    assert "host-ip-forward-off" in run(bin_folder / "gpustack", "lab", "faults", cwd=tmp_path, extra=extra)
    assert "--from" in run(bin_folder / "gpustack", "bundle", "build", "--help", cwd=tmp_path, extra=extra)


def test_a_lab_that_does_not_fit_is_named(bin_folder: Path, lab_wheel: Path, tmp_path: Path) -> None:
    extra = tmp_path / "packages"
    run(bin_folder / "pip", "install", "-q", "--no-deps", "--no-index", "--target", extra, lab_wheel, cwd=tmp_path)
    (extra / "gpustack_lab" / "cli" / "extension.py").write_text("")
    assert "AttributeError" in run(bin_folder / "gpustack", "lab", "status", cwd=tmp_path, status=2, extra=extra)
    assert run(bin_folder / "gpustack", "version", cwd=tmp_path, extra=extra).strip()
