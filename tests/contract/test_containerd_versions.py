"""Real versions of containerd read our files, and what NVIDIA's real installer writes, for each kind of config.toml."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment

from gpustack.config.resources import locate_playbooks
from gpustack.config.versions import KNOWN_SETS, VersionSet, read_version_set
from gpustack.steps.chart_values import read_own_values
from gpustack_lab.bundle import modules
from tests.contract.promtool import find_program

ROLE = locate_playbooks() / "roles" / "containerd"
MODULE = "github.com/containerd/containerd/v2"
COMPILE_LIMIT = 1800  # seconds for the first compilation of a version beside a busy lab; Go's cache has it afterwards
REFUSAL = "containerd: drop-in config version {} higher than root config version {}"
PAUSE = "site.example/pause:1"
IMPORTS = 'imports = ["/etc/containerd/conf.d/*.toml"]\n'
# What depends on no version is given ours by the role. The others are the owner's.
FREE_ROOTS = {
    "as packaged": 'disabled_plugins = ["cri"]\n#[grpc]\n#  gid = 0\n',
    "none": IMPORTS,
    "2": f"version = 2\n{IMPORTS}",
}
OWN_TABLE = f"[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = '{PAUSE}'\n"
OWN_ROOTS = {version: f"version = {version}\n{IMPORTS}{OWN_TABLE}" for version in ("3", "4")}
OLDER_ROOTS = {
    "none": f"{IMPORTS}[plugins.cri]\nsandbox_image = '{PAUSE}'\n",
    "2": f"version = 2\n{IMPORTS}[plugins.'io.containerd.grpc.v1.cri']\nsandbox_image = '{PAUSE}'\n",
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(COMPILE_LIMIT)]


def list_versions(version_set: VersionSet) -> list[str]:
    """List the first good patch of each line, the last one before it that has a known defect, and the pinned one."""
    first_versions = {version for versions in version_set.containerd_lines.values() for version in versions}
    defective = {
        re.sub(r"\d+$", lambda match: str(int(match[0]) - 1), version)
        for version in first_versions
        if version.rpartition(".")[0] in version_set.containerd_defects
    }
    return sorted(first_versions | defective | {version_set.components["containerd"]})


VERSION_SET = read_version_set(KNOWN_SETS[-1])
VERSIONS = list_versions(VERSION_SET)
every_version = pytest.mark.parametrize("version", VERSIONS)


@dataclass(frozen=True)
class Folder:
    """Hold a folder that stands for /etc/containerd, and the containerd that reads it."""

    path: Path
    program: Path

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text.replace("/etc/containerd", str(self.path)))

    def dump(self) -> "subprocess.CompletedProcess[str]":
        command: list[str | Path] = [self.program, "--config", self.path / "config.toml", "config", "dump"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def load(self) -> dict[str, Any]:
        """Load what containerd makes of its files."""
        process = self.dump()
        assert process.returncode == 0, process.stderr
        plugins: dict[str, Any] = tomllib.loads(process.stdout)["plugins"]
        return plugins


@cache
def compile_containerd(version: str, folder: Path) -> Path:
    """Compile a version of containerd from its module, with the flags of the bundle. Skip the test without Go."""
    program = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not program:
        pytest.skip("no Go: make go")
    env = {**os.environ, **modules.build_go_environment(cgo=False)}
    download = [program, "mod", "download", "-json", f"{MODULE}@v{version}"]
    process = subprocess.run(download, capture_output=True, text=True, env=env, timeout=600, check=False)
    if process.returncode:
        pytest.skip(f"no module of containerd {version}: {process.stdout}{process.stderr}")
    source, output = Path(json.loads(process.stdout)["Dir"]), folder / f"containerd-{version}"
    build: list[str | Path] = [program, "build", "-mod=readonly", "-ldflags", "-s -w", "-o", output, "./cmd/containerd"]
    subprocess.run(build, cwd=source, env=env, check=True, capture_output=True, timeout=COMPILE_LIMIT - 5)
    return output


@pytest.fixture
def folder(version: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    (tmp_path / "etc").mkdir()
    return Folder(tmp_path / "etc", compile_containerd(version, tmp_path_factory.getbasetemp()))


def edit_root(text: str) -> str:
    """Edit config.toml as the role does."""
    variables: dict[str, Any] = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    for edit in variables["containerd_main_configuration"]:
        text = re.sub(edit["regexp"], edit["replace"], text, flags=re.MULTILINE)
    return text


def write_our_files(folder: Folder, root: str) -> None:
    template = Environment(autoescape=True).from_string((ROLE / "templates" / "gpustack.toml.j2").read_text())
    folder.write("conf.d/gpustack.toml", template.render(containerd_restrict_oom_score_adj=True))
    folder.write("config.toml", edit_root(root))


def install_toolkit(folder: Folder, source: str = "") -> None:
    """Run NVIDIA's installer of the pinned toolkit, as its container does on a host, without a signal to containerd."""
    installer = Path(find_program("nvidia-ctk-installer", "nvidia-container-toolkit"))
    place = folder.path.parent
    (place / "usr" / "bin").mkdir(parents=True)
    for program in installer.parent.iterdir():
        (place / "usr" / "bin" / program.name).symlink_to(program)
    scripts = {
        place / "usr" / "bin" / "nvidia-container-cli": "",
        place / "containerd": f'exec {folder.program} --config {folder.path}/config.toml "$@"',
    }
    for path, body in scripts.items():
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    command: list[str | Path] = [
        installer, "--no-daemon", "--restart-mode=none", "--create-device-nodes=none", "--ignore-errors",
        "--driver-root=/", "--host-root=/", "--runtime=containerd", f"--socket={place}/none",
        f"--toolkit-install-dir={place}/nvidia", f"--toolkit-source-root={place}", f"--pid-file={place}/toolkit.pid",
        f"--config={folder.path}/config.toml", f"--drop-in-config={folder.path}/conf.d/99-nvidia.toml",
        f"--executable-path={place}/containerd", *([f"--config-source={source}"] if source else []),
    ]  # fmt: skip
    env = {"PATH": os.environ["PATH"]}
    process = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=False)
    assert process.returncode == 0, process.stderr


def read_toolkit_version(folder: Folder) -> int:
    return int(tomllib.loads((folder.path / "conf.d" / "99-nvidia.toml").read_text())["version"])


def read_source(folder: Folder) -> str:
    """Read the toolkit's source from the values of the chart."""
    variables = {variable["name"]: variable["value"] for variable in read_own_values("gpu-operator")["toolkit"]["env"]}
    return str(variables["RUNTIME_CONFIG_SOURCE"]).replace("/etc/containerd", str(folder.path))


def is_defective(version: str) -> bool:
    """Tell whether it is a version that the version set refuses."""
    good_versions = {first for versions in VERSION_SET.containerd_lines.values() for first in versions}
    return version not in good_versions | {VERSION_SET.components["containerd"]}


def select_runtimes(plugins: dict[str, Any]) -> dict[str, Any]:
    return dict(plugins["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"])


@every_version
@pytest.mark.parametrize("root", [*FREE_ROOTS.values(), *OWN_ROOTS.values()], ids=[*FREE_ROOTS, *OWN_ROOTS])
def test_our_files_and_the_toolkit_s_are_accepted_and_in_force(folder: Folder, version: str, root: str) -> None:
    """The refused versions, too, accept what we write: a host that has one of them keeps its runtime."""
    write_our_files(folder, root)
    runtime = folder.load()["io.containerd.cri.v1.runtime"]
    assert runtime["cni"]["bin_dirs"] == ["/opt/cni/bin"]
    assert runtime["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is True
    install_toolkit(folder, read_source(folder))
    assert read_toolkit_version(folder) == 3
    plugins = folder.load()
    for name in ("runc", "nvidia", "nvidia-cdi", "nvidia-legacy"):
        assert select_runtimes(plugins)[name]["options"]["SystemdCgroup"] is True, name
        assert select_runtimes(plugins)[name]["runtime_type"] == "io.containerd.runc.v2", name
    assert plugins["io.containerd.cri.v1.runtime"]["cni"]["bin_dirs"] == ["/opt/cni/bin"]
    is_own = root in OWN_ROOTS.values()
    assert (plugins["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == PAUSE) is is_own


@every_version
@pytest.mark.parametrize("root", OLDER_ROOTS)
def test_what_is_refused_would_be_ignored_or_end_containerd(folder: Folder, version: str, root: str) -> None:
    """Lines before 2.3 ignore config.toml beside a newer file; 2.3.0 to 2.3.4 exit where it says a version."""
    write_our_files(folder, OLDER_ROOTS[root])
    process = folder.dump()
    if is_defective(version) and root == "2":
        assert (process.returncode, process.stderr.splitlines()[-1]) == (1, REFUSAL.format(3, 2))
        return
    sandbox = folder.load()["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"]
    assert (sandbox == PAUSE) is version.startswith("2.3.")


@every_version
def test_the_toolkit_s_default_source_ends_refused_versions(folder: Folder, version: str) -> None:
    """The default is the output of config dump, whose version is the newest that it knows (NVIDIA/aicr issue 1688)."""
    write_our_files(folder, OWN_ROOTS["3"])
    install_toolkit(folder)
    process = folder.dump()
    assert read_toolkit_version(folder) == (4 if version.startswith("2.3.") else 3)
    if is_defective(version):
        assert (process.returncode, process.stderr.splitlines()[-1]) == (1, REFUSAL.format(4, 3))
    else:
        assert process.returncode == 0, process.stderr


@every_version
def test_with_the_main_file_as_source_containers_with_gpus_get_cgroupfs(folder: Folder, version: str) -> None:
    """NVIDIA documents `file`; config.toml does not say SystemdCgroup, since our file says it."""
    write_our_files(folder, OWN_ROOTS["3"])
    install_toolkit(folder, "file")
    assert select_runtimes(folder.load())["nvidia"]["options"].get("SystemdCgroup") is not True
