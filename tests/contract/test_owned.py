"""Check that playbooks/files/owned.json declares all that a step writes on a host: record and reset know no more."""

import fnmatch
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.egress import PATHS
from gpustack.config.resources import PACKAGE, locate_playbooks
from gpustack.probes.host.owned_resources import FILES as LOOKED_FOR
from gpustack.probes.host.owned_resources import NO_TRACE, SEARCHED_FOLDERS
from gpustack.steps import STEPS
from tests.contract.roles import list_tasks

FILES = locate_playbooks() / "files"
DECLARED_PATHS: dict[str, dict[str, list[str]]] = json.loads((FILES / "owned.json").read_text())
KINDS = {"file", "lines", "marked", "folder", "data", "store", "link", "private"}
WRITING = {"copy": "dest", "template": "dest", "file": "path", "replace": "path", "lineinfile": "path"}
# Scripts beside the roles, by the step whose role runs them.
SHARED_PATHS = {
    "prereqs": ("egress.sh", "way-out.sh"),
    "containerd": ("egress.sh", "apt-repositories.sh", "pinned.sh"),
    "gpu-driver": ("apt-repositories.sh",),
    "gpu-runtime": ("apt-repositories.sh",),
    "monitoring": ("helm-release.sh",),
    "standalone-monitoring": ("standalone-start.sh",),
}
# Paths in scripts that are read, or that a program of the host changes when it is asked to.
READ = {
    "/etc/os-release", "/etc/machine-id", "/etc/apt/sources.list.d", "/etc/cni/net.d", "/etc/kubernetes/admin.conf",
    "/etc/passwd", "/var/lib/dpkg/updates", "/etc/cdi/nvidia.yaml", "/etc/firewalld", "/etc/nftables.conf",
    "/etc/ufw/ufw.conf", "/etc/default/ufw", "/opt/cni/bin", "/etc/iptables/rules.v4", "/etc/iptables/rules.v6",
    "/usr/local/sbin", "/usr/local/bin", "/etc/gpustack-cluster/proxy.env", "/etc/apt/auth.conf.d/gpustack-mirror.conf",
    "/etc/apt/keyrings/gpustack-kubernetes.gpg", "/usr/local/lib/gpustack/helm", "/etc/kubernetes/kubelet.conf",
    "/var/lib/gpustack-cluster/owned.json", "/etc/gpustack-cluster/images", "/etc/ufw/user.rules",
    "/var/lib/dkms", "/var/lib/gpustack-cluster/before/*", "/etc/apt/sources.list",
    "/etc/systemd/system/containerd.service.d/gpustack-proxy.conf",
    "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/*.pem", "/usr/local/share/ca-certificates/gpustack-*.crt",
}  # fmt: skip
PATH = re.compile(r"(?<![\w.$}/*-])/(?:etc|opt|root|usr/local|var/lib|var/log|run)(?:/[\w.@{}$*-]+)+")


def locate_role(step: str) -> Path:
    return locate_playbooks() / "roles" / step.replace("-", "_")


def list_declared(step: str) -> set[str]:
    steps = [step, *(["containerd-configuration"] if step == "containerd" else [])]
    return {path for name in steps for paths in DECLARED_PATHS.get(name, {}).values() for path in paths}


def is_declared(path: str, declared_paths: set[str]) -> bool:
    """Tell whether a path is declared, or lies below one, or is a folder above a declared path."""
    return any(
        fnmatch.fnmatchcase(path, pattern)
        or fnmatch.fnmatchcase(pattern, path)
        or path.startswith(f"{pattern}/")
        or pattern.startswith(f"{path.rstrip('/')}/")
        for pattern in declared_paths
    )


def list_written_paths(step: str) -> Iterator[str]:
    """List the paths of modules that write, with each item of a loop that stands in the task."""
    for file in sorted(locate_role(step).glob("tasks/*.yml")):
        if file.name == "reset.yml":
            continue
        for task in list_tasks(yaml.safe_load(file.read_text())):
            for module, key in WRITING.items():
                argument = str(task.get(f"ansible.builtin.{module}", {}).get(key, ""))
                yield from (fill(argument, item) for item in list_items(task) or [None])


def list_items(task: dict[str, Any]) -> list[Any]:
    loop = task.get("loop", [])
    return loop if isinstance(loop, list) else []


def fill(text: str, item: Any) -> str:
    if isinstance(item, dict):
        return re.sub(r"\{\{ item\.(\w+) \}\}", lambda match: str(item[match[1]]), text)
    return text.replace("{{ item }}", str(item))


@pytest.mark.parametrize("step", [step.id for step in STEPS])
def test_modules_write_declared_paths(step: str) -> None:
    declared_paths = list_declared(step)
    paths = {path for path in list_written_paths(step) if path.startswith("/") and "{{" not in path}
    assert sorted(path for path in paths if not is_declared(path, declared_paths)) == []


@pytest.mark.parametrize("step", [step.id for step in STEPS])
def test_scripts_name_declared_paths_or_those_that_are_read(step: str) -> None:
    declared_paths = list_declared(step) | READ
    scripts = [path for path in locate_role(step).glob("files/*.sh") if not path.name.startswith("reset")]
    scripts += [FILES / name for name in SHARED_PATHS.get(step, ())]
    for script in scripts:
        text = "\n".join(line for line in script.read_text().splitlines() if not line.lstrip().startswith("#"))
        named_paths = {re.sub(r"\$\{?\w+\}?", "*", path) for path in PATH.findall(text)}
        odd = [path for path in named_paths if not is_declared(path, declared_paths) and not path.startswith("/run/")]
        assert sorted(odd) == [], script.name


def test_kinds_are_known_and_paths_are_whole() -> None:
    assert {kind for kinds in DECLARED_PATHS.values() for kind in kinds} <= KINDS
    paths = [path for kinds in DECLARED_PATHS.values() for paths in kinds.values() for path in paths]
    assert [path for path in paths if not re.fullmatch(r"(/[\w.@*-]+)+", path) or ".." in path] == []


def test_files_with_a_proxy_or_a_login_are_declared() -> None:
    for step, paths in PATHS.items():
        assert set(paths) <= set(DECLARED_PATHS[step]["file"])


def test_a_step_that_declares_something_records_it_first_and_last() -> None:
    for step in STEPS:
        (play,) = yaml.safe_load((locate_playbooks() / f"{step.id}.yml").read_text())
        names = [task["ansible.builtin.import_tasks"] for task in (*play["pre_tasks"], *play.get("post_tasks", ()))]
        recording = [name for name in names if "record" in name]
        assert recording == (["tasks/record-before.yml", "tasks/record-after.yml"] if step.id in DECLARED_PATHS else [])
        assert play.get("vars", {}).get("ownership_step", step.id) == step.id


def test_remedies_that_write_files_record_them() -> None:
    for name in ("sysctl", "drop_in"):
        (play,) = yaml.safe_load((locate_playbooks() / "remedy" / f"{name}.yml").read_text())
        names = [task["ansible.builtin.import_tasks"] for task in (*play["pre_tasks"][1:], *play["post_tasks"])]
        assert names == ["../tasks/record-before.yml", "../tasks/record-after.yml"]
        assert play["vars"] == {"ownership_step": f"remedy-{name.replace('_', '-')}"}
    catalogue = "".join(path.read_text() for path in (PACKAGE / "doctor" / "catalogue").glob("*.yaml"))
    paths = re.findall(r"^ +path: (/etc/\S+)$", catalogue, re.MULTILINE)
    assert set(paths) == set(DECLARED_PATHS["remedy-drop-in"]["file"])


def test_ansible_keeps_no_copies_of_its_own() -> None:
    for path in locate_playbooks().rglob("*.yml"):
        assert "backup: true" not in path.read_text(), path


def test_what_is_declared_is_looked_for_once() -> None:
    paths = [path for paths in LOOKED_FOR.values() for path in paths]
    assert sorted(paths) == sorted(set(paths))
    kinds = ("file", "data", "private")
    declared_paths = {
        path
        for kinds_of_step in DECLARED_PATHS.values()
        for kind in kinds
        for path in kinds_of_step.get(kind, ())
        if "cbr0-" not in path
    }
    traceless_paths = {
        path for path in declared_paths if any(fnmatch.fnmatchcase(path, pattern) for pattern in NO_TRACE)
    }
    assert [pattern for pattern in NO_TRACE if not fnmatch.filter(declared_paths, pattern)] == []
    lacking = [
        path
        for path in declared_paths - traceless_paths
        if not any(is_declared(path, {declared_path}) for declared_path in paths)
    ]
    assert sorted(lacking) == []
    folders = {path for kinds_of_step in DECLARED_PATHS.values() for path in kinds_of_step.get("folder", ())}
    assert {pattern.removesuffix("/*") for pattern in SEARCHED_FOLDERS} <= folders


def test_no_program_of_a_play_imports_from_the_folder_of_the_login() -> None:
    """`python3 -c` looks for modules in the working folder first, which is the home of whoever logs in."""
    for path in [*locate_playbooks().rglob("*.yml"), *locate_playbooks().rglob("*.sh")]:
        for line in path.read_text().splitlines():
            if re.search(r"python3\b.* -c\b|\[python3,", line) and not line.lstrip().startswith("#"):
                assert re.search(r"python3,? -I", line), f"{path}: {line}"
