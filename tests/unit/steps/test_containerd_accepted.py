"""containerd-files.sh: nothing restarts containerd with files that it refuses, and they become what they were."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.remedy.copies import SCRIPT_FOLDER, SCRIPTS

PLAYBOOKS = locate_playbooks()
SCRIPT = PLAYBOOKS / "files" / "containerd-files.sh"
# The last line of `containerd --config FILE config dump`: 2.3.4 with a file of conf.d of version 4, config.toml of
# version 3; 2.3.7 with a short name in a file of version 3.
ZFS = 'invalid disabled plugin URI "zfs" expect io.containerd.x.vx'
REFUSALS = (
    "containerd: drop-in config version 4 higher than root config version 3",
    f"containerd: failed to load TOML from /etc/containerd/config.toml: {ZFS}",
)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host whose containerd refuses files with the word `refused`, and writes down each restart."""
    (tmp_path / "etc" / "conf.d").mkdir(parents=True)
    (tmp_path / "run").mkdir()
    (tmp_path / "words").write_text(REFUSALS[0])
    programs = {
        "containerd": f"""echo warning: migrated >&2
! grep -rq refused {tmp_path}/etc || {{ cat {tmp_path}/words >&2; exit 1; }}""",
        "systemctl": f'echo "$*" >>{tmp_path}/calls',
    }  # fmt: skip
    for name, body in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    write_files(tmp_path, {"config.toml": "old root", "conf.d/gpustack.toml": "old"})
    return tmp_path


def write_files(host: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (host / "etc" / name).write_text(text)


def read_files(host: Path) -> dict[str, str]:
    folder = host / "etc"
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.toml")}


def run_function(host: Path, call: str) -> "subprocess.CompletedProcess[str]":
    script = SCRIPT.read_text().replace("/etc/containerd", f"{host}/etc").replace("/run/", f"{host}/run/")
    env = {"PATH": f"{host}:{os.environ['PATH']}"}
    command = ["sh", "-c", f"set -eu\n{script}\n{call}"]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=False)


def list_restarts(host: Path) -> list[str]:
    return (host / "calls").read_text().splitlines() if (host / "calls").exists() else []


def test_files_that_containerd_accepts_stay_and_it_is_restarted(host: Path) -> None:
    assert run_function(host, "keep_containerd_files").returncode == 0
    new_files = {"config.toml": "new root", "conf.d/gpustack.toml": "new", "conf.d/gpustack-nvidia.toml": "new"}
    write_files(host, new_files)
    process = run_function(host, "restart_containerd")
    assert (process.returncode, process.stderr) == (0, "")
    assert read_files(host) == new_files
    assert list_restarts(host) == ["daemon-reload", "restart containerd"]
    assert list((host / "run").iterdir()) == []


@pytest.mark.parametrize("refusal", REFUSALS)
def test_files_that_containerd_refuses_become_what_they_were(host: Path, refusal: str) -> None:
    (host / "words").write_text(refusal)
    run_function(host, "keep_containerd_files")
    write_time = (host / "etc" / "config.toml").stat().st_mtime_ns
    write_files(host, {"config.toml": "refused", "conf.d/gpustack.toml": "new", "conf.d/gpustack-nvidia.toml": "new"})
    process = run_function(host, "restart_containerd")
    assert process.returncode == 1
    assert (
        f"refuses its files: {refusal}; it was not restarted, and its files are as they were before" in process.stderr
    )
    assert "(gpustack explain containerd-files-refused)" in process.stderr
    assert read_files(host) == {"config.toml": "old root", "conf.d/gpustack.toml": "old"}
    assert (host / "etc" / "config.toml").stat().st_mtime_ns == write_time, "the running containerd has loaded it"
    assert list_restarts(host) == []


def test_a_file_of_others_is_left_where_nothing_is_kept(host: Path) -> None:
    write_files(host, {"conf.d/99-nvidia.toml": "refused"})
    process = run_function(host, "restart_containerd")
    assert (process.returncode, list_restarts(host)) == (1, [])
    assert "its files were left as they are" in process.stderr
    assert read_files(host)["conf.d/99-nvidia.toml"] == "refused"


def test_a_containerd_without_an_answer_is_not_restarted(host: Path) -> None:
    (host / "containerd").write_text("#!/bin/sh\nexit 3\n")
    process = run_function(host, "restart_containerd")
    assert (process.returncode, list_restarts(host)) == (1, [])
    assert "refuses its files: it gave no answer" in process.stderr


def list_scripts() -> list[Path]:
    return [path for path in PLAYBOOKS.rglob("*") if path.suffix in (".sh", ".yml")] + list(SCRIPT_FOLDER.glob("*.sh"))


def test_nothing_else_restarts_containerd() -> None:
    assert SCRIPT in SCRIPTS
    assert [path.name for path in list_scripts() if "systemctl restart containerd" in path.read_text()] == [SCRIPT.name]
    modules = [path for path in list_scripts() if re.search(r"^\s+name: containerd$", path.read_text(), re.MULTILINE)]
    assert modules == []


@pytest.mark.parametrize("role", ["containerd", "gpu_runtime"])
def test_a_role_asks_containerd_before_it_records_its_files(role: str) -> None:
    (name,) = {"containerd": ["configuration.yml"], "gpu_runtime": ["host.yml"]}[role]
    tasks: list[dict[str, Any]] = yaml.safe_load((PLAYBOOKS / "roles" / role / "tasks" / name).read_text())
    calls = [str(task.get("ansible.builtin.command", {})) for task in tasks]
    keeping_task, accepting_task = (
        next(place for place, call in enumerate(calls) if f"{function}_containerd_files" in call)
        for function in ("keep", "accept")
    )
    notifying_tasks = [place for place, task in enumerate(tasks) if "notify" in task and place < accepting_task]
    assert notifying_tasks
    assert keeping_task < min(notifying_tasks)
    records = [place for place, task in enumerate(tasks) if "record-after" in str(task)]
    assert all(accepting_task < place for place in records)


def test_a_remedy_asks_containerd_before_it_starts_it() -> None:
    first, second = yaml.safe_load((PLAYBOOKS / "remedy" / "roles" / "unit" / "tasks" / "main.yml").read_text())
    assert "accept_containerd_files" in str(first)
    assert first["when"] == "unit_name == 'containerd'"
    assert "ansible.builtin.systemd_service" in second
