"""Bad worlds and what they get: a clear refusal with a reference and a remedy, before anything is changed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest
import yaml

from gpustack_lab import lab
from tests.lab import witness
from tests.lab.conftest import GPUSTACK, Run
from tests.lab.logins import PASSWORD, QUESTION, add_user, add_user_with_password

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture(scope="module")
def one_host(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    wrong_lab = make_lab("wrong", ["debian-12"])
    add_user(wrong_lab, "host1", "plain")
    add_user_with_password(wrong_lab, "host1")
    return wrong_lab


@pytest.fixture
def inventory(one_host: lab.Lab, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the lab's inventory with other variables for host1."""

    def copy_folder(**variables: str) -> Path:
        folder = tmp_path / "inventory"
        shutil.copytree(one_host.inventory, folder)
        hosts = yaml.safe_load((folder / "hosts.yml").read_text())
        hosts["all"]["vars"] |= variables
        (folder / "hosts.yml").write_text(yaml.safe_dump(hosts))
        return folder

    return copy_folder


def write_ssh_config(running_lab: lab.Lab, tmp_path: Path, known_hosts: str) -> str:
    """Write the lab's ssh configuration with other known host keys."""
    known_hosts_file = tmp_path / "known_hosts"
    known_hosts_file.write_text(known_hosts)
    lines = running_lab.ssh_config.read_text().splitlines()
    remaining_lines = [line for line in lines if "KnownHostsFile" not in line]
    path = tmp_path / "ssh_config"
    path.write_text(
        f"UserKnownHostsFile {known_hosts_file}\nGlobalKnownHostsFile /dev/null\n" + "\n".join(remaining_lines) + "\n"
    )
    return f"-F {path}"


def test_an_unknown_host_key_is_refused_with_the_command_that_adds_it(
    one_host: lab.Lab, inventory: Callable[..., Path], gpustack: Run, tmp_path: Path
) -> None:
    path = inventory(ansible_ssh_common_args=write_ssh_config(one_host, tmp_path, ""))
    output = gpustack("install", "-i", path, "--yes", code=4).stderr
    assert "host-key-unknown" in output
    assert "gpustack trust" in output


def test_a_changed_host_key_is_refused(
    one_host: lab.Lab, inventory: Callable[..., Path], gpustack: Run, tmp_path: Path
) -> None:
    address = one_host.hosts[0].address
    other_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    path = inventory(ansible_ssh_common_args=write_ssh_config(one_host, tmp_path, f"{address} {other_key}\n"))
    assert "host-key-changed" in gpustack("install", "-i", path, "--yes", code=4).stderr


def test_a_host_that_does_not_answer_is_reported(inventory: Callable[..., Path], gpustack: Run) -> None:
    path = inventory(ansible_port="9")
    output = gpustack("plan", "-i", path, code=4).stderr
    assert "host-ssh-unreachable" in output
    assert "host1" in output


def test_a_user_who_may_not_become_root_is_refused(inventory: Callable[..., Path], gpustack: Run) -> None:
    output = gpustack("plan", "-i", inventory(ansible_user="plain"), code=4).stderr
    assert "host-sudo-password" in output
    assert "-K" in output


def test_the_sudo_password_is_asked_for_and_shown_nowhere(inventory: Callable[..., Path]) -> None:
    path = inventory(ansible_user=QUESTION)
    words = [*GPUSTACK, "install", "-K", "--only", "prereqs", "--yes", "-i", str(path)]
    child = pexpect.spawn(words[0], words[1:], timeout=300, encoding="utf-8")
    child.expect("sudo password: ")
    child.sendline(PASSWORD)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    assert PASSWORD not in (child.before or "")


def test_an_old_cluster_is_never_touched(one_host: lab.Lab, gpustack: Run) -> None:
    host = witness.connect_host(one_host, "host1")
    old = "clusters:\\n- cluster:\\n    server: https://old.example:6443\\n"
    host.check_output(f"install -d /etc/kubernetes && printf '{old}' >/etc/kubernetes/kubelet.conf")
    before = host.check_output("sha256sum /etc/kubernetes/kubelet.conf; dpkg -l | sha256sum")
    try:
        result = gpustack("install", "-i", one_host.inventory, "--yes", code=5)
        assert "old.example" in result.stdout + result.stderr
        assert host.check_output("sha256sum /etc/kubernetes/kubelet.conf; dpkg -l | sha256sum") == before
    finally:
        host.check_output("rm /etc/kubernetes/kubelet.conf")
