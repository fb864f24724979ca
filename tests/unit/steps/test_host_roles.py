"""Checks expect what roles do: these lists stand in both, because neither can read the other."""

import re

import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.probes.containerd.daemon import MANAGED_HEADER, REGISTRIES, SOCKET
from gpustack.probes.host.units import CLOCKS
from gpustack.probes.kernel.settings import KERNEL_MODULES, SYSCTLS
from gpustack.probes.packages.software import FETCH_PACKAGES, HOST_PACKAGES
from gpustack.steps.kubernetes.step import NAMES
from gpustack.steps.prereqs.kernel import SYSCTL_FILE

ROLES = locate_playbooks() / "roles"
PREREQS, CONTAINERD, KUBERNETES = (ROLES / name for name in ("prereqs", "containerd", "kubernetes"))


def strip_comments(*lines: str) -> list[str]:
    return [line for line in lines if line and not line.startswith("#")]


def test_the_role_installs_the_packages_of_the_check() -> None:
    variables = yaml.safe_load((PREREQS / "vars" / "main.yml").read_text())
    assert tuple(variables["prereqs_packages_of_nodes"]) == HOST_PACKAGES
    assert variables["prereqs_packages"].endswith(f"else {list(FETCH_PACKAGES)} }}}}")
    tasks = (KUBERNETES / "tasks" / "main.yml").read_text()
    packages = re.search(r"PACKAGES: >-\n((?:      .+\n)+)", tasks)
    assert packages
    assert {word.split("=")[0] for word in re.sub(r"\{\{.*?\}\}", "", packages[1]).split()} == set(NAMES)


def test_the_role_sets_the_modules_and_sysctls_of_the_check() -> None:
    files = PREREQS / "files"
    assert set(strip_comments(*(files / "modules.conf").read_text().splitlines())) == KERNEL_MODULES
    assert strip_comments(*(files / "sysctl.conf").read_text().splitlines()) == [f"{key} = 1" for key in SYSCTLS]
    assert f"dest: {SYSCTL_FILE}" in (PREREQS / "tasks" / "node.yml").read_text()
    effect = (files / "effect.sh").read_text()
    assert f"for key in {' '.join(SYSCTLS)}; do" in effect
    assert f'clocks="{" ".join(CLOCKS)}"' in effect
    assert " ".join(f"{name}.service" for name in CLOCKS) in (files / "host-packages.sh").read_text()


def test_the_role_has_the_registries_and_the_mark_of_the_check() -> None:
    layout = (CONTAINERD / "files" / "layout.sh").read_text()
    assert f"for registry in {' '.join(REGISTRIES)}; do" in layout
    assert f"HEADER='{MANAGED_HEADER}'" in layout


def test_the_role_configures_the_socket_of_the_check() -> None:
    text = (KUBERNETES / "vars" / "main.yml").read_text()
    assert set(re.findall(r"-endpoint: (unix:\S+?)(?:\\n)?'?$", text, re.MULTILINE)) == {SOCKET}
