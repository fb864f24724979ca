"""The controller reaches two hosts at addresses that the hosts do not have, as cloud instances behind NAT. Nothing of
the cluster has these addresses but the certificate of its API, which administrators use."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab import roads, witness
from tests.lab.conftest import Run
from tests.lab.firewalls import run_everywhere
from tests.lab.translation import translate_addresses

LEAKS = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.filterwarnings(LEAKS)]

# For documentation (RFC 5737): no host has them.
PUBLIC_ADDRESSES = {"host1": "198.51.100.11", "host2": "198.51.100.12"}
PUBLIC_SERVER = f"https://{PUBLIC_ADDRESSES['host1']}:6443"
CONFIGURATION = "/etc/kubernetes/gpustack-kubeadm.yaml"
# What gpustack installs, or a play writes first.
INSTALLED_FILES = (
    "ls -d /etc/kubernetes /etc/containerd /etc/apt/keyrings/gpustack* /var/lib/gpustack-cluster 2>/dev/null || :"
)


@pytest.fixture(scope="module")
def translated_lab(make_lab: Callable[..., lab.Lab]) -> Iterator[lab.Lab]:
    running_lab = make_lab("translated", ["debian-12", "debian-13"])
    known_hosts = running_lab.record.state / "ssh" / "known_hosts"
    own_addresses = {host.address: PUBLIC_ADDRESSES[host.name] for host in running_lab.hosts}
    lines = known_hosts.read_text()
    for address, public_address in own_addresses.items():
        lines = lines.replace(f"{address} ", f"{address},{public_address} ")
    known_hosts.write_text(lines)
    with translate_addresses(running_lab, PUBLIC_ADDRESSES):
        yield running_lab


@pytest.fixture(scope="module")
def node_addresses(translated_lab: lab.Lab) -> dict[str, str]:
    return {host.name: host.address for host in translated_lab.hosts}


@pytest.fixture(scope="module")
def public_inventory(translated_lab: lab.Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An inventory with the public addresses and no others."""
    folder = tmp_path_factory.mktemp("public") / "inventory"
    roads.copy_inventory(translated_lab, folder, list(PUBLIC_ADDRESSES))
    return set_host_variables(folder, "ansible_host", PUBLIC_ADDRESSES)


@pytest.fixture(scope="module")
def complete_inventory(
    translated_lab: lab.Lab, node_addresses: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An inventory that also has the address of each node."""
    folder = tmp_path_factory.mktemp("complete") / "inventory"
    roads.copy_inventory(translated_lab, folder, list(PUBLIC_ADDRESSES))
    roads.merge_into(folder, {"kubernetes": {"cert_sans": [PUBLIC_ADDRESSES["host1"]]}})
    set_host_variables(folder, "ansible_host", PUBLIC_ADDRESSES)
    return set_host_variables(folder, "gpustack_node_ip", node_addresses)


def set_host_variables(inventory: Path, key: str, value_by_host: dict[str, str]) -> Path:
    def edit(document: dict[str, Any]) -> None:
        nodes = document["all"]["children"]["kube_node"]["hosts"]
        for name, value in value_by_host.items():
            nodes[name][key] = value

    roads.change(inventory / "hosts.yml", edit)
    return inventory


def join_words(process: "subprocess.CompletedProcess[str]") -> str:
    return " ".join((process.stdout + process.stderr).split())


def test_hosts_do_not_have_their_public_addresses(translated_lab: lab.Lab) -> None:
    """The tests below would prove nothing otherwise."""
    for name in PUBLIC_ADDRESSES:
        host = witness.connect_host(translated_lab, name)
        assert "198.51.100." not in host.check_output("ip -4 address")
        assert host.run(f"timeout 3 bash -c '</dev/tcp/{PUBLIC_ADDRESSES['host1']}/22'").rc != 0


def test_a_public_address_alone_is_refused_before_anything_changes(
    translated_lab: lab.Lab, public_inventory: Path, node_addresses: dict[str, str], gpustack: Run
) -> None:
    before = run_everywhere(translated_lab, INSTALLED_FILES)
    output = join_words(gpustack("install", "-i", public_inventory, "--yes", code=5))
    assert "node-address-unconfirmed" in output
    assert "gpustack_node_ip" in output
    for name, address in PUBLIC_ADDRESSES.items():
        assert address in output
        assert node_addresses[name] in output, "the addresses among which the operator may choose"
    assert run_everywhere(translated_lab, INSTALLED_FILES) == before


@pytest.mark.parametrize(
    ("meanings", "words"),
    [
        ({"host1": "host1", "host2": "host2"}, "getent ahostsv4 api.example.net"),
        ({"host1": "host1"}, "no address"),
    ],
    ids=["differs", "missing"],
)
def test_an_endpoint_with_two_meanings_is_refused(
    translated_lab: lab.Lab,
    complete_inventory: Path,
    node_addresses: dict[str, str],
    gpustack: Run,
    tmp_path: Path,
    meanings: dict[str, str],
    words: str,
) -> None:
    named_inventory = copy_with_endpoint(complete_inventory, tmp_path / "named", "api.example.net:6443")
    before = run_everywhere(translated_lab, INSTALLED_FILES)
    for name, meaning in meanings.items():
        witness.connect_host(translated_lab, name).check_output(
            f"echo '{node_addresses[meaning]} api.example.net' >>/etc/hosts"
        )
    try:
        output = join_words(gpustack("install", "-i", named_inventory, "--yes", code=5))
    finally:
        run_everywhere(translated_lab, "sed -i '/api.example.net/d' /etc/hosts")
    assert "creation-refused" in output
    assert words in output
    assert run_everywhere(translated_lab, INSTALLED_FILES) == before


def copy_with_endpoint(inventory: Path, folder: Path, endpoint: str) -> Path:
    shutil.copytree(inventory, folder)
    roads.merge_into(folder, {"kubernetes": {"endpoint": endpoint}})
    return folder


def test_with_the_addresses_of_the_nodes_a_cluster_comes_about(
    translated_lab: lab.Lab, complete_inventory: Path, gpustack: Run
) -> None:
    gpustack("install", "-i", complete_inventory, "--yes", limit=900)
    gpustack("verify", "-i", complete_inventory)
    assert "nothing to do" in gpustack("install", "-i", complete_inventory, "--yes").stdout


def test_nothing_on_the_hosts_has_a_public_address_but_the_certificate_of_the_api(
    translated_lab: lab.Lab, complete_inventory: Path, node_addresses: dict[str, str]
) -> None:
    for name in PUBLIC_ADDRESSES:
        host = witness.connect_host(translated_lab, name)
        files = host.run("grep -rlF 198.51.100. /etc /var/lib/kubelet /var/lib/gpustack-cluster").stdout.split()
        # What kubeadm makes the certificate of: kubernetes.cert_sans, and nothing else.
        assert files == ([CONFIGURATION] if name == "host1" else [])
        flags = host.check_output("cat /var/lib/kubelet/kubeadm-flags.env /etc/kubernetes/kubelet.conf")
        assert f"--node-ip={node_addresses[name]}" in flags
        assert f"server: https://{node_addresses['host1']}:6443" in flags
    plane = witness.connect_host(translated_lab, "host1")
    (line,) = plane.check_output(f"grep -F 198.51.100. {CONFIGURATION}").splitlines()
    assert line.strip().startswith("certSANs:")
    names = plane.check_output("openssl x509 -noout -ext subjectAltName -in /etc/kubernetes/pki/apiserver.crt")
    assert f"IP Address:{PUBLIC_ADDRESSES['host1']}" in names


def test_administrators_use_the_public_address(complete_inventory: Path, gpustack: Run, tmp_path: Path) -> None:
    config = tmp_path / "config"
    gpustack("kubeconfig", "-i", complete_inventory, "--server", PUBLIC_SERVER, "--out", config)
    assert f"server: {PUBLIC_SERVER}" in config.read_text()
    assert sorted(witness.list_ready(witness.connect_api(config))) == ["host1", "host2"]


def test_the_doctor_finds_nothing(complete_inventory: Path, gpustack: Run) -> None:
    document = json.loads(gpustack("doctor", "-i", complete_inventory, "-o", "json").stdout)
    assert document["healthy"]
