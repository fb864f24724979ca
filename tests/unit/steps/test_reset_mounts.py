"""A reset removes files on hosts with mounts and links, with real mounts: in a root and a mount namespace of the test's
own. `/export` is a folder of the test, so a file of it that is gone shows afterwards."""

import re
from pathlib import Path

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from tests.worlds.programs.own_root import Machine, make_machine

FILES = locate_playbooks() / "files"
ROLES = locate_playbooks() / "roles"
# Everything is agreed on: what is recorded is another matter (tests/unit/ownership).
AGREED_REMOVAL = 'is_agreed() { [ "$1" = remove ]; }\nCLUSTER=yes\n'
DROP = f"{(FILES / 'remove-agreed.sh').read_text()}\n{AGREED_REMOVAL}"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return make_machine(tmp_path)


# A folder of the same file system looks like one of ours to rm; only the table of mounts tells them apart.
MOUNTS = {
    "another file system": "mount -t tmpfs none {0}; mount --bind /export {0}",
    "a folder of the same file system": "mount --bind /export {0}",
}


@pytest.mark.parametrize("mount", MOUNTS.values(), ids=MOUNTS)
@pytest.mark.parametrize(
    ("task", "folder"),
    [
        ("mkdir -p /var/lib/cni/deep/er", "/var/lib/cni/deep/er"),
        ("mkdir -p '/var/lib/cni/two words'", "'/var/lib/cni/two words'"),
        ("rmdir /var/lib; mkdir -p /data/lib/cni/deep; ln -s /data/lib /var/lib", "/data/lib/cni/deep"),
    ],
    ids=["deep", "blanks", "through a link"],
)
def test_nothing_is_removed_while_something_is_mounted_below(
    machine: Machine, task: str, folder: str, mount: str
) -> None:
    process = machine.run("set -eu", task, "echo >/var/lib/cni/ours", mount.format(folder), DROP, "drop /var/lib/cni")
    assert process.returncode != 0
    assert folder.strip("'") in process.stderr
    assert "umount" in process.stderr
    assert machine.remaining_paths == ["precious"]
    assert "changed" not in process.stdout
    assert [path.name for path in machine.root.rglob("ours")] == ["ours"]


def test_a_neighbour_of_a_similar_name_is_not_below(machine: Machine) -> None:
    process = machine.run(
        "set -eu; mkdir -p /var/lib/cni /var/lib/cni-data; mount --bind /export /var/lib/cni-data",
        DROP,
        "drop /var/lib/cni",
    )
    assert (process.returncode, process.stdout) == (0, "changed: removed /var/lib/cni\n")
    assert machine.remaining_paths == ["precious"]


def test_a_folder_that_is_a_disk_of_its_own_is_emptied_and_stays(machine: Machine) -> None:
    disk = "mkdir -p /var/lib/containerd; mount -t tmpfs none /var/lib/containerd; mkdir /var/lib/containerd/a"
    list_command = "ls -A /var/lib/containerd; mountpoint /var/lib/containerd"
    process = machine.run(
        "set -eu", disk, DROP, "drop /var/lib/containerd; drop_empty /var/lib/containerd", list_command
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout == "changed: emptied /var/lib/containerd\n/var/lib/containerd is a mountpoint\n"
    process = machine.run(
        "set -eu; mount -t tmpfs none /var/lib", DROP, "mkdir /var/lib/a; drop /var/lib; drop /var/lib"
    )
    assert process.stdout == "changed: emptied /var/lib\n", "an empty one is no change"


def test_of_a_link_only_the_link_goes(machine: Machine) -> None:
    process = machine.run("set -eu; ln -s /export /var/lib/cni", DROP, "drop /var/lib/cni; test ! -L /var/lib/cni")
    assert process.returncode == 0, process.stderr
    assert machine.remaining_paths == ["precious"]


CONTROL_PLANE = (FILES / "limits.sh").read_text() + (ROLES / "control_plane" / "files" / "reset.sh").read_text()
PLACES = {
    "a folder": ("mkdir -p /var/lib/kubelet", "/var/lib/kubelet"),
    "a link to another disk": (
        "mount -t tmpfs none /data; mkdir /data/kubelet; ln -s /data/kubelet /var/lib/kubelet",
        "/data/kubelet",
    ),
    "a disk of its own": ("mkdir /var/lib/kubelet; mount -t tmpfs none /var/lib/kubelet", "/var/lib/kubelet"),
}


@pytest.mark.parametrize(("task", "folder"), PLACES.values(), ids=PLACES)
def test_volumes_of_the_kubelet_are_unmounted_and_keep_their_files(machine: Machine, task: str, folder: str) -> None:
    volume = f"{folder}/pods/a/volumes/pv\\ 1"
    mount_command = f"mkdir -p {volume}; mount --bind /export {volume}; echo >/var/lib/kubelet/config.yaml"
    process = machine.run(
        "set -eu", task, mount_command, "(", DROP, CONTROL_PLANE, ")", f"! [ -e {folder} ] || ls -A {folder}"
    )
    assert process.returncode == 0, process.stderr
    assert f"changed: unmounted {folder}/pods/a/volumes/pv 1\n" in process.stdout
    assert "changed: removed /var/lib/kubelet/config.yaml\n" in process.stdout
    assert process.stdout.splitlines()[-1].startswith("changed: "), "the folder is empty"
    assert machine.remaining_paths == ["precious"]


def test_a_volume_that_is_in_use_ends_the_reset_of_the_host_before_anything_is_removed(machine: Machine) -> None:
    volume = "/var/lib/kubelet/pods/a"
    mount_command = (
        f"mkdir -p {volume} /etc/kubernetes/pki; mount --bind /export {volume}; cd {volume}; sleep 50 & cd /"
    )
    process = machine.run("set -eu", mount_command, "trap 'kill $!' EXIT", "(", DROP, CONTROL_PLANE, ")")
    assert process.returncode != 0
    assert volume in process.stderr
    assert "changed" not in process.stdout
    assert machine.remaining_paths == ["precious"]
    assert (machine.root / "etc/kubernetes/pki").is_dir()


def extract_script() -> str:
    """Extract the script that removes containerd's packages and storage; apt is a line that says so."""
    tasks = yaml.safe_load((ROLES / "containerd" / "tasks" / "reset.yml").read_text())
    script: str = tasks[-1]["ansible.builtin.command"]["argv"][-1]

    def read_content(match: re.Match[str]) -> str:
        if match[1] == "apt-remove.sh":
            return "echo changed: packages"
        if match[1] == "remove-agreed.sh":
            return DROP
        return next(
            path for path in (FILES / match[1], ROLES / "containerd/files" / match[1]) if path.exists()
        ).read_text()

    return re.sub(r"\{\{ lookup\('ansible.builtin.file', '([^']*)'\) \}\}", read_content, script)


@pytest.mark.parametrize("folder", ["/var/lib/containerd", "/run/containerd"])
def test_containerd_s_packages_stay_while_something_is_mounted_in_its_storage(machine: Machine, folder: str) -> None:
    """Nobody would know any more whose the storage was without its package."""
    mount_command = f"set -eu; mkdir -p {folder}/left; mount --bind /export {folder}/left; export STORAGE=yes"
    process = machine.run(mount_command, extract_script())
    assert process.returncode != 0
    assert f"{folder}/left" in process.stderr
    assert "changed" not in process.stdout
    assert machine.remaining_paths == ["precious"]


def test_containerd_s_storage_goes_with_its_packages(machine: Machine) -> None:
    process = machine.run(
        "set -eu; mkdir -p /var/lib/containerd/a /run/containerd; export STORAGE=yes", extract_script()
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines() == [
        "changed: packages", "changed: removed /var/lib/containerd", "changed: removed /run/containerd"
    ]  # fmt: skip
