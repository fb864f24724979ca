"""Thirty addresses, a third of them bad in every way there is: the others are served, each bad one is named with its
reason, and the time is that of the slowest one. The addresses are those of two bare lab hosts."""

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.transport.refusal import CONNECT_LIMIT, HOST_LIMIT
from gpustack_lab import lab
from tests.lab.bad_hosts import make_bad, write_ssh_config
from tests.lab.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NAME = f"t{os.getpid()}-many"
BAD = {
    "n03": "refused",
    "n05": "drips",
    "n07": "dropped",
    "n10": "silent",
    "n14": "hangs",
    "n15": "hangs",
    "n18": "mute",
    "n19": "no-right",
    "n22": "no-sudo",
    "n25": "other-key",
    "n28": "unknown-key",
}
LATE = {"n12": "slow", "n21": "slow"}
# What the machine itself needs for thirty logins and scripts, beside the limits; two cores that others use as well.
WORK = 45


@pytest.fixture(scope="module")
def many_hosts() -> Iterator[lab.Lab]:
    lab.remove_lab(NAME)
    many_lab = lab.create_lab(NAME, releases=["debian-12", "debian-13"], addresses=30)
    make_bad(many_lab, BAD | LATE)
    yield many_lab
    many_lab.kill()


@pytest.fixture(scope="module")
def inventory(many_hosts: lab.Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lab's inventory of addresses, with an ssh_config that knows all keys but one."""
    folder = tmp_path_factory.mktemp("many")
    config = write_ssh_config(many_hosts, ["n28"], folder / "ssh")
    folder /= "inventory"
    inventory = lab.locate_inventory(NAME, addresses=True)
    hosts = yaml.safe_load((inventory / "hosts.yml").read_text())
    hosts["all"]["vars"]["ansible_ssh_common_args"] = f"-F {config}"
    nodes = hosts["all"]["children"]["kube_node"]["hosts"]
    assert list(nodes) == [f"n{i + 1:02}" for i in range(30)]
    nodes["n19"]["ansible_user"] = "plain"
    variables = folder / "group_vars" / "all"
    variables.mkdir(parents=True)
    (folder / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    (variables / "gpustack.yml").write_bytes((inventory / "group_vars" / "all" / "gpustack.yml").read_bytes())
    return folder


@pytest.fixture(scope="module")
def address(many_hosts: lab.Lab) -> dict[str, str]:
    return {extra.name: extra.address for extra in many_hosts.record.addresses}


class Connections:
    """The most SSH connections from this machine into the lab at one time, while it is entered."""

    def __init__(self, net: str) -> None:
        self.net, self.max_count, self.end = net, 0, threading.Event()
        self.thread = threading.Thread(target=self.count)

    def count(self) -> None:
        query = ["ss", "-tnH", "state", "established", f"dst {self.net}.0/24 and dport = :22"]
        while not self.end.wait(0.05):
            stdout = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout
            self.max_count = max(self.max_count, len(stdout.splitlines()))

    def __enter__(self) -> "Connections":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end.set()
        self.thread.join(timeout=60)


@pytest.mark.parametrize("verb", ["plan", "verify"])
def test_good_hosts_are_served_and_bad_hosts_are_named(
    verb: str, many_hosts: lab.Lab, inventory: Path, address: dict[str, str], gpustack: Run
) -> None:
    with Connections(many_hosts.record.net) as connections:
        loads = json.loads(gpustack(verb, "-i", inventory, "-o", "json", code=1).stdout)
    hosts = {host["name"]: host for host in loads["hosts"]}
    assert {name for name, host in hosts.items() if host["unreachable"]} == set(BAD)
    assert {name: hosts[name]["reference"] for name in BAD} == {
        "n03": "host-ssh-unreachable",
        "n05": "host-no-shell",
        "n07": "host-ssh-unreachable",
        "n10": "host-ssh-unreachable",
        "n14": "host-no-shell",
        "n15": "host-no-shell",
        "n18": "host-no-shell",
        "n19": "host-sudo-password",
        "n22": "host-no-sudo",
        "n25": "host-key-changed",
        "n28": "host-key-unknown",
    }
    assert {name: hosts[name]["reason"] for name in BAD} == {
        "n03": f"{address['n03']}: connection refused",
        "n07": f"no answer from {address['n07']} within {CONNECT_LIMIT} s",
        "n10": f"no answer from {address['n10']} within {CONNECT_LIMIT} s",
        **dict.fromkeys(
            ("n05", "n14", "n15", "n18"), f"the login works, and its shell gave no answer within {HOST_LIMIT} s"
        ),
        "n19": "sudo: a password is required",
        "n22": "there is no sudo on it and the login is not root",
        "n25": f"the host key of {address['n25']} is another than the known one",
        "n28": f"the host key of {address['n28']} is not known",
    }
    assert all(hosts[name]["hint"] for name in BAD)
    values = list_reasons(loads)
    assert {name for name in values if any(f"{name} was not reached" in reason for reason in values[name])} == set(BAD)
    for name in set(hosts) - set(BAD):
        assert not any(bad in reason for reason in values[name] for bad in BAD), (
            "what a bad one does not tell is its own"
        )
    assert loads["next"]
    assert HOST_LIMIT < loads["seconds"] < CONNECT_LIMIT + HOST_LIMIT + WORK, "one after the other takes 155 s"
    assert 2 <= connections.max_count <= 30, "one connection per host"


def list_reasons(report: dict[str, Any]) -> dict[str, set[str]]:
    """List for every host why something of it is unknown."""
    values: dict[str, set[str]] = {}
    for state in report["states"]:
        whys = {check["reason"] for check in state["checks"] if check["outcome"] == "unknown"}
        values.setdefault(state["location"], set()).update(whys)
    return values


def test_people_read_each_bad_host_with_what_to_do(inventory: Path, gpustack: Run) -> None:
    result = gpustack("plan", "-i", inventory, code=1)
    for name in BAD:
        assert re.search(rf"\b{name}\b", result.stdout), name
    for text in ("connection refused", "a password is required", "there is no sudo", "ssh-keygen -R", "gpustack trust"):
        assert text in result.stdout, text


def test_where_all_are_bad_nothing_could_be_asked(
    many_hosts: lab.Lab, inventory: Path, tmp_path: Path, gpustack: Run
) -> None:
    """Three that time out take as long as one."""
    hosts = yaml.safe_load((inventory / "hosts.yml").read_text())
    nodes = hosts["all"]["children"]["kube_node"]["hosts"]
    hosts["all"]["children"]["kube_node"]["hosts"] = {name: nodes[name] for name in ("n03", "n07", "n10", "n22", "n28")}
    hosts["all"]["children"]["kube_control_plane"]["hosts"] = {"n07": None}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    began = time.monotonic()
    result = gpustack("plan", "-i", tmp_path, code=4)
    assert time.monotonic() - began < CONNECT_LIMIT + WORK
    for name in ("n03", "n07", "n10", "n22", "n28"):
        assert name in result.stdout + result.stderr
