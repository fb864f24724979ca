"""The ordinary inventory that a lab leaves behind. What a nested or older kernel needs is said here and nowhere else."""

from pathlib import Path
from typing import Any

import yaml

from gpustack.errors import LabError
from gpustack.lab.capabilities import Machine
from gpustack.lab.state import Record, default_name, read


def inventory_path(name: str | None = None, *, addresses: bool = False) -> Path:
    """The inventory directory of a lab, by default that of this checkout's. `addresses`: the one with many addresses.

    Raises LabError when the lab is not up.
    """
    record = read(name or default_name())
    if record is None:
        raise LabError("lab-not-up", f"there is no lab {name or default_name()}", "", "gpustack lab up")
    return record.state / ("addresses" if addresses else "inventory")


def write_inventories(record: Record, machine: Machine) -> None:
    spec = {"gpustack": cluster_spec(record, machine)}
    hosts = [(host.name, host.address) for host in record.hosts]
    _write(record.state / "inventory", hosts_file(record, hosts), spec)
    if record.addresses:
        many = [(address.name, address.address) for address in record.addresses]
        _write(record.state / "addresses", hosts_file(record, many), spec)


def hosts_file(record: Record, hosts: list[tuple[str, str]]) -> dict[str, Any]:
    """Content of hosts.yml: the first host is the control plane, every host a node."""
    key, config = record.state / "ssh" / "id_ed25519", record.state / "ssh_config"
    return {
        "all": {
            "vars": {
                "ansible_user": "ops",
                "ansible_become": True,
                "ansible_ssh_private_key_file": str(key),
                "ansible_ssh_common_args": f"-F {config}",
            },
            "children": {
                "kube_control_plane": {"hosts": {hosts[0][0]: None}},
                "kube_node": {"hosts": {name: {"ansible_host": address} for name, address in hosts}},
            },
        }
    }


def cluster_spec(record: Record, machine: Machine) -> dict[str, Any]:
    """The cluster spec for hosts on this machine: options that any nested or older host needs, no others."""
    spec: dict[str, Any] = {
        # nf_conntrack_max cannot be written in a network namespace of its own.
        "kube_proxy": {"conntrack": {"max_per_core": 0, "min": 0}},
        "time_sync": "external",
    }
    if record.source:
        spec["source"] = {"mirror": record.source.url, "fingerprint": record.source.fingerprint}
    if machine.cgroup == 1:
        spec["kubernetes"] = {"ignore_preflight": ["SystemVerification"]}
        spec["kubelet"] = {"failCgroupV1": False}
    if not machine.oom_score:
        spec["containerd"] = {"restrict_oom_score_adj": True}
    if machine.swap:
        spec["swap"] = "keep"
    return spec


def _write(directory: Path, hosts: dict[str, Any], spec: dict[str, Any]) -> None:
    variables = directory / "group_vars" / "all"
    variables.mkdir(parents=True, exist_ok=True)
    (directory / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    (variables / "gpustack.yml").write_text(yaml.safe_dump(spec, sort_keys=False))
