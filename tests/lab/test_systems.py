"""Tools as old as Ubuntu 22.04's and as new as 26.04's: a cluster, verified, nothing to do again, and gone again.

What these hosts are, and that they are no Ubuntu, says docs/simulated.md.
"""

import shutil
import subprocess
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack_lab import lab
from tests.lab import carried, witness
from tests.lab.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]

PASSWORD = "not a secret 1"
AS_ROOT = f"{carried.VENV}/bin/gpustack"


def test_install_works_with_old_tools(make_lab: Callable[..., lab.Lab], gpustack: Run) -> None:
    old_lab = make_lab("old-tools", ["old-tools"])
    assert witness.connect_host(old_lab, "host1").check_output("systemctl --version").startswith("systemd 247")
    gpustack("install", "--yes", "-i", old_lab.inventory)
    gpustack("verify", "-i", old_lab.inventory)
    assert "nothing to do" in gpustack("install", "--yes", "-i", old_lab.inventory).stdout
    gpustack("reset", "--yes", "-i", old_lab.inventory)


def test_install_works_with_new_tools(
    make_lab: Callable[..., lab.Lab], gpustack: Run, wheel: Path, tmp_path: Path
) -> None:
    """The controller is on Debian 13: the ansible-core of an older Python does not know the host's."""
    new_lab = make_lab("new-tools", ["debian-13", "new-tools"])
    controller, host = witness.connect_host(new_lab, "host1"), witness.connect_host(new_lab, "host2")
    inventory = copy_inventory(new_lab, "host2", tmp_path / "site")
    if metadata.version("ansible-core").startswith("2.19."):
        refusal_text = gpustack("plan", "-i", inventory, code=1).stdout
        assert "expected 3.8 to 3.13 (ansible-core 2.19)," in " ".join(refusal_text.split())
        assert "actual 3.14" in " ".join(refusal_text.split())
        assert "run gpustack itself on a newer Python" in refusal_text
        gpustack("install", "--yes", "-i", inventory, code=5)
    carried.install(new_lab, "host1", "3.13", wheel, tmp_path)
    take_login(new_lab, "host1")

    def run(words: str, code: int = 0) -> str:
        carried.copy_folder(new_lab, "host1", inventory, "/tmp")
        process = controller.run(f"NO_COLOR=1 {AS_ROOT} {words} -i /tmp/{inventory.name}")
        assert process.rc == code, process.stderr[-4000:] + process.stdout[-4000:]
        return str(process.stdout)

    host.check_output(f"echo 'ops:{PASSWORD}' | chpasswd && echo 'ops ALL=(ALL) ALL' >/etc/sudoers.d/ops")
    before = list_packages(new_lab)
    write_spec(inventory, ansible_become_password=PASSWORD)
    assert "ansible_become_exe: sudo.ws" in run("plan", code=1)
    run("install --yes", code=5)
    assert list_packages(new_lab) == before
    write_spec(inventory, ansible_become_exe="sudo.ws")
    run("install --yes")
    run("verify")
    assert "nothing to do" in run("install --yes")
    run("reset --yes")


def list_packages(running_lab: lab.Lab) -> str:
    """List packages as the login sees them: its sudo asks for a password now."""
    return subprocess.run(
        [*running_lab.build_ssh_command("host2"), "dpkg-query", "-W"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def copy_inventory(running_lab: lab.Lab, name: str, folder: Path) -> Path:
    shutil.copytree(running_lab.inventory, folder)
    document = yaml.safe_load((folder / "hosts.yml").read_text())
    groups = document["all"]["children"]
    (groups["kube_node"]["hosts"], groups["kube_control_plane"]["hosts"]) = (
        {name: groups["kube_node"]["hosts"][name]},
        {name: None},
    )
    (folder / "hosts.yml").write_text(yaml.safe_dump(document, sort_keys=False))
    return folder


def write_spec(inventory: Path, **variables: Any) -> None:
    path = inventory / "hosts.yml"
    document = yaml.safe_load(path.read_text())
    document["all"]["vars"] |= variables
    path.write_text(yaml.safe_dump(document, sort_keys=False))


def take_login(running_lab: lab.Lab, name: str) -> None:
    """Put the lab's key and ssh settings in their own place on a host, where the inventory names them."""
    state = running_lab.ssh_config.parent
    process = subprocess.run(
        ["tar", "-C", "/", "-c", *(str(path.relative_to("/")) for path in (state / "ssh", running_lab.ssh_config))],
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    subprocess.run(
        [*running_lab.build_ssh_command(name), "sudo tar -C / -x"], input=process.stdout, check=True, timeout=60
    )
