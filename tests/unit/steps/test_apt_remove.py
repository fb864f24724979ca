"""Removing packages keeps the data that a purge would delete: real dpkg and apt, over packages of the test's own.

Debian's scripts of prometheus, prometheus-alertmanager and prometheus-node-exporter delete their data folder on a purge
(docs/reset.md lists the paths); the package `daemon` does the same.
"""

import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks
from tests.worlds.programs.own_root import Machine, make_machine

FILES = locate_playbooks() / "files"
SCRIPT = f"(\n{(FILES / 'limits.sh').read_text()}\n{(FILES / 'apt-remove.sh').read_text()})"
PURGES = "#!/bin/sh\nset -e\n[ $1 != purge ] || rm -rf /var/lib/daemon/metrics\n"
PACKAGES = {"daemon": PURGES, "plain": "", "edited": ""}
DATABASE = """set -eu
mkdir -p /var/lib/dpkg/info /var/lib/dpkg/updates /var/lib/apt/lists/partial /var/cache/apt/archives/partial /etc/apt
mkdir -p /var/log/apt /var/lib/daemon/metrics
touch /var/lib/dpkg/status
echo series >/var/lib/daemon/metrics/block
dpkg --force-not-root --force-bad-path --install /export/*.deb >/dev/null
echo 'somebody wrote this' >/etc/edited.conf
"""


def build_package(folder: Path, name: str, postrm: str) -> None:
    """Build NAME.deb with one configuration file and, unless empty, a postrm script."""
    tree = folder / name
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "etc").mkdir()
    (tree / "etc" / f"{name}.conf").write_text("as packaged\n")
    control = (
        f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: x\n"
    )
    (tree / "DEBIAN" / "control").write_text(control)
    (tree / "DEBIAN" / "conffiles").write_text(f"/etc/{name}.conf\n")
    if postrm:
        (tree / "DEBIAN" / "postrm").write_text(postrm)
        (tree / "DEBIAN" / "postrm").chmod(0o755)
    command = ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(folder / f"{name}.deb")]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = make_machine(tmp_path)
    for name, postrm in PACKAGES.items():
        build_package(machine.export, name, postrm)
    return machine


def remove_packages(machine: Machine, names: str) -> "subprocess.CompletedProcess[str]":
    list_command = (
        "find /var/lib/daemon /etc -name '*.conf' -o -name block | sort; dpkg-query -Wf '${Package} ${Status}\\n'"
    )
    return machine.run(DATABASE, f"export HOLDS= PACKAGES='{names}'", SCRIPT, list_command)


def test_a_package_whose_script_deletes_data_is_removed_and_not_purged(machine: Machine) -> None:
    packages = remove_packages(machine, "daemon plain")
    assert packages.returncode == 0, packages.stderr
    lines = packages.stdout.splitlines()
    assert lines[:2] == [
        "changed: removed daemon plain",
        "their configuration files and data stay, apt-get purge deletes both: daemon",
    ]
    assert "/var/lib/daemon/metrics/block" in lines
    assert "/etc/daemon.conf" in lines
    assert "daemon deinstall ok config-files" in lines


def test_a_package_without_a_script_goes_with_the_configuration_that_nobody_changed(machine: Machine) -> None:
    packages = remove_packages(machine, "plain")
    assert packages.stdout.splitlines()[0] == "changed: removed plain"
    assert "/etc/plain.conf" not in packages.stdout
    assert "stay" not in packages.stdout


def test_configuration_that_somebody_changed_stays(machine: Machine) -> None:
    packages = remove_packages(machine, "edited")
    assert "/etc/edited.conf" in packages.stdout.splitlines()
    assert "edited deinstall ok config-files" in packages.stdout
