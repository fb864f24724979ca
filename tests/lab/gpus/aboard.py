"""gpustack on a host of its own cluster: it reaches that host without SSH, and the control plane with the lab's key."""

import json
from pathlib import Path
from typing import Any

from gpustack_lab import lab
from tests.lab import carried, roads
from tests.lab.firewalls import run_as_root

FOLDER = "/tmp/aboard"


def install_aboard(two: lab.Lab, host: str, python: str, wheel: Path, folder: Path) -> None:
    """Install gpustack on a host whose own Python is `python`, with an inventory of the cluster."""
    carried.install(two, host, python, wheel, folder)
    source = folder / "aboard"
    inventory = roads.copy_inventory(two, source / "inventory", ["host1", "host2"])
    roads.change(inventory / "hosts.yml", lambda values: set_connections(values, host))
    key = two.ssh_config.parent / "ssh"
    for name in ("id_ed25519", "known_hosts"):
        (source / name).write_bytes((key / name).read_bytes())
    (source / "id_ed25519").chmod(0o600)
    (source / "ssh_config").write_text(two.ssh_config.read_text().replace(str(key), FOLDER))
    carried.copy_folder(two, host, source, FOLDER)
    run_as_root(two, host, f"chown -R root: {FOLDER} && chmod 600 {FOLDER}/id_ed25519", 30)


def set_connections(values: dict[str, Any], own_host: str) -> None:
    variables = values["all"]["vars"]
    variables["ansible_ssh_private_key_file"] = f"{FOLDER}/id_ed25519"
    variables["ansible_ssh_common_args"] = f"-F {FOLDER}/ssh_config"
    values["all"]["children"]["kube_node"]["hosts"][own_host]["ansible_connection"] = "local"


def check_aboard(two: lab.Lab, host: str, target: str) -> dict[str, Any]:
    """Ask on the host what a remediation would do, and return the document."""
    command = f"{carried.VENV}/bin/gpustack remediate {target} --check -i {FOLDER}/inventory -o json -q"
    process = two.exec(host, ["sudo", "bash", "-c", command], text="", limit=300)
    assert process.stdout, process.stderr
    document: dict[str, Any] = json.loads(process.stdout)
    return document
