"""The ordinary inventory of a lab. Settings for a nested or older kernel are added in this module and nowhere else."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from gpustack_lab.lab.capabilities import Machine
from gpustack_lab.lab.state import Record, read_running

EMULATED_FACTOR = 10  # all limits, on hosts that are ten to twenty times slower


def locate_inventory(name: str | None = None, *, addresses: bool = False) -> Path:
    """Return the inventory directory of a lab, by default this checkout's. With `addresses` it is the one whose hosts
    are n01, n02 and so on.

    Raise LabError when the lab is not up, or stopped.
    """
    return read_running(name).state / ("addresses" if addresses else "inventory")


def write_inventories(record: Record, machine: Machine) -> None:
    spec = {"gpustack": build_cluster_spec(record, machine)}
    _write(
        record.state / "inventory", build_hosts_file(record, [(host.name, host.address) for host in record.hosts]), spec
    )
    if record.addresses:
        extra_hosts = [(extra.name, extra.address) for extra in record.addresses]
        _write(record.state / "addresses", build_hosts_file(record, extra_hosts), spec)


def build_hosts_file(record: Record, hosts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Build the content of hosts.yml: the first host is the control plane, every host a node."""
    addresses = dict(hosts)
    return {
        "all": {
            "vars": {
                "ansible_user": "ops",
                "ansible_become": True,
                "ansible_ssh_private_key_file": str(record.state / "ssh" / "id_ed25519"),
                "ansible_ssh_common_args": f"-F {record.state / 'ssh_config'}",
            },
            "children": {
                "kube_control_plane": {"hosts": {next(iter(addresses)): None}},
                "kube_node": {"hosts": {name: {"ansible_host": address} for name, address in addresses.items()}},
            },
        }
    }


def build_cluster_spec(record: Record, machine: Machine) -> dict[str, Any]:
    """Build the cluster spec for hosts on this machine: options that any nested or older host needs, no others."""
    spec = {} if record.vm else build_container_spec(machine)
    if record.source and record.internet:
        # The packages of this internet are not the vendors' own, as those of a fork are not.
        repositories = ("kubernetes", "containerd", "nvidia", "toolkit")
        spec["fingerprints"] = dict.fromkeys(repositories, record.source.fingerprint)
        # Its charts are the lab's own under their publishers' addresses, and a version set has the publishers' sums.
        spec["monitoring"] = {"enabled": False}
        # Nor are its images, which a version set pins.
        spec.setdefault("containerd", {})["verify_images"] = False
    elif record.source:
        spec["source"] = {
            "mirror": record.source.url,
            "fingerprint": record.source.fingerprint,
            "simulated": "allowed",
        }
    # The clock is the machine's.
    spec["time_sync"] = "external"
    if record.emulated:
        spec["timeout_factor"] = EMULATED_FACTOR
    return spec


def build_container_spec(machine: Machine) -> dict[str, Any]:
    """Build the settings for hosts that share this machine's kernel."""
    spec: dict[str, Any] = {}
    if machine.cgroup == 1:
        spec["kubernetes"] = {"ignore_preflight": ["SystemVerification"]}
        spec["kubelet"] = {"failCgroupV1": False}
    if not machine.oom_score:
        spec["containerd"] = {"restrict_oom_score_adj": True}
    # nf_conntrack_max cannot be written in a network namespace other than the first.
    spec["kube_proxy"] = {"conntrack": {"max_per_core": 0, "min": 0}}
    if machine.swap:
        spec["swap"] = "keep"
    return spec


def _write(directory: Path, hosts: dict[str, Any], spec: dict[str, Any]) -> None:
    variables = directory / "group_vars" / "all"
    variables.mkdir(parents=True, exist_ok=True)
    (directory / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    (variables / "gpustack.yml").write_text(yaml.safe_dump(spec, sort_keys=False))
