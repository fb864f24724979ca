"""The Vagrantfile and inventories/vagrant describe the same machines."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpustack.config.inventory import Inventory, load_inventory

ROOT = Path(__file__).parents[2]
INVENTORY = ROOT / "inventories" / "vagrant"


def evaluate_vagrantfile(**variables: str) -> Any:
    """Evaluate the declarations of the Vagrantfile by Ruby, with a stand-in for Vagrant's language."""
    ruby = shutil.which("ruby")
    if ruby is None:
        pytest.skip("no ruby on this machine")
    command = [ruby, "-w", str(Path(__file__).with_name("vagrantfile.rb")), str(ROOT / "Vagrantfile")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VAGRANT_")}
    process = subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=False, env=environment | variables
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return json.loads(process.stdout)


@pytest.fixture(scope="module")
def vagrantfile() -> Any:
    return evaluate_vagrantfile()


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return load_inventory(INVENTORY)


def test_three_ubuntu_machines_are_large_enough_for_kubeadm(vagrantfile: Any, inventory: Inventory) -> None:
    assert vagrantfile["box"] == "bento/ubuntu-24.04"
    assert len(vagrantfile["machines"]) == 3
    assert vagrantfile["cpus"] >= inventory.spec.minimum.cpus
    assert vagrantfile["memory"] >= inventory.spec.minimum.memory_mib


def test_the_box_is_pinned_and_vagrant_new_enough_for_its_architectures(vagrantfile: Any) -> None:
    assert (vagrantfile["box_version"], vagrantfile["required_version"]) == ("202510.26.0", ">= 2.4.0")


def test_another_box_has_its_newest_version_or_the_one_that_is_named() -> None:
    vagrantfile = evaluate_vagrantfile(VAGRANT_BOX="cloud-image/ubuntu-24.04")
    assert (vagrantfile["box"], vagrantfile.get("box_version")) == ("cloud-image/ubuntu-24.04", None)
    vagrantfile = evaluate_vagrantfile(VAGRANT_BOX="bento/ubuntu-26.04", VAGRANT_BOX_VERSION="1.0")
    assert (vagrantfile["box"], vagrantfile["box_version"]) == ("bento/ubuntu-26.04", "1.0")


def test_inventory_has_the_names_and_addresses_of_the_machines(vagrantfile: Any, inventory: Inventory) -> None:
    machines = {name: machine["network"]["ip"] for name, machine in vagrantfile["machines"].items()}
    assert [machine["hostname"] for machine in vagrantfile["machines"].values()] == list(machines)
    assert {host.name: host.address for host in inventory.hosts} == machines
    assert {host.name: str(host.spec.gpustack_node_ip) for host in inventory.hosts} == machines


def test_the_inventory_has_one_control_plane_and_becomes_root(inventory: Inventory) -> None:
    assert [host.name for host in inventory.control_planes] == ["kube1"]
    assert {(host.user, host.become) for host in inventory.hosts} == {("vagrant", True)}
