"""Check that an address or an identity that one host claims reaches no other host and no other node.

Every answer of a worker in the healthy cluster is changed: its addresses, its names, its machine-id, its MAC addresses
become those of a stranger. No variable of another host may have one of them, and no other node may be chosen.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.errors import RolloutError
from gpustack.probes.firewall.live_rules import FIREWALL
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.rollout.addresses import refuse_unconfirmed
from gpustack.rollout.overlay import build_overlay
from gpustack.rollout.plan import plan
from gpustack.steps import STEPS
from gpustack.steps.firewall.packets import list_host_flows
from gpustack.steps.node_address import find_node_address, find_trusted_address
from gpustack.steps.own_node import confirm_node, find_node, find_removable_node
from tests.worlds.snapshots.healthy import build_healthy_snapshot

STRANGER, STRANGE_ID, STRANGE_NAME, STRANGE_MAC = "203.0.113.66", "e" * 32, "x9", "02:66:66:66:66:66"
MARKS = (STRANGER, STRANGE_ID, STRANGE_MAC, f'"{STRANGE_NAME}"', f"{STRANGE_NAME} ")
ADDRESS = re.compile(r"(?<![0-9.])(?!127\.|0\.0\.0\.0|255\.|192\.0\.2\.1)\d{1,3}(?:\.\d{1,3}){3}(?![0-9.])")
ID = re.compile(r"(?<![0-9a-fA-F])[0-9a-f]{32}(?![0-9a-fA-F])")
MAC = re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b")
NAME = re.compile(r"\b(?:host2|k2)\b")
LIAR, NEIGHBOUR = "k2", "k1"


@cache
def build_snapshot() -> Snapshot:
    """Build the healthy cluster with a stranger's node in it and a firewall that gpustack manages."""
    snapshot = build_healthy_snapshot()
    spec = snapshot.inventory.spec.model_dump(mode="json", by_alias=True) | {"firewall": {"manage": True}}
    inventory = replace(snapshot.inventory, spec=Spec.model_validate(spec))
    answers = dict(snapshot.answers)
    for probe in ("kube.nodes", "gpu.nodes"):
        document = json.loads(answers[probe, CLUSTER].stdout)
        document["items"].append(make_stranger(document["items"][-1]))
        answers[probe, CLUSTER] = replace(answers[probe, CLUSTER], stdout=json.dumps(document))
    return replace(snapshot, inventory=inventory, answers=MappingProxyType(answers))


def make_stranger(entry: Mapping[str, Any]) -> Any:
    document = json.loads(json.dumps(entry))
    document["metadata"]["name"] = STRANGE_NAME
    document["status"]["nodeInfo"]["machineID"] = STRANGE_ID
    document["status"]["addresses"] = [{"type": "InternalIP", "address": STRANGER}]
    return document


def replace_words(text: str) -> str:
    for pattern, stranger in ((ADDRESS, STRANGER), (ID, STRANGE_ID), (MAC, STRANGE_MAC), (NAME, STRANGE_NAME)):
        text = pattern.sub(stranger, text)
    return text


def replace_answers(snapshot: Snapshot, changes: Mapping[tuple[str, str], Answer]) -> Snapshot:
    return replace(snapshot, answers=MappingProxyType({**snapshot.answers, **changes}))


def find_lies() -> Iterator[tuple[str, Answer]]:
    for (probe, host), answer in sorted(build_snapshot().answers.items()):
        if host == LIAR and (text := replace_words(answer.stdout)) != answer.stdout:
            yield probe, replace(answer, stdout=text)


LIES = dict(find_lies())


ALONE = [pytest.param({probe: answer}, id=probe) for probe, answer in LIES.items()]
every_lie = pytest.mark.parametrize("lies", [pytest.param(LIES, id="all"), *ALONE])


@every_lie
def test_no_word_of_a_host_reaches_the_variables_of_another(lies: Mapping[str, Answer]) -> None:
    snapshot = replace_answers(build_snapshot(), {(probe, LIAR): answer for probe, answer in lies.items()})
    variables = json.dumps(build_overlay(snapshot)["all"]["hosts"][NEIGHBOUR], default=str)
    honest = json.dumps(build_overlay(build_snapshot())["all"]["hosts"][NEIGHBOUR], default=str)
    assert [mark for mark in MARKS if mark in variables and mark not in honest] == []


@every_lie
def test_no_word_of_a_host_chooses_another_node(lies: Mapping[str, Answer]) -> None:
    snapshot = replace_answers(build_snapshot(), {(probe, LIAR): answer for probe, answer in lies.items()})
    for choose in (find_removable_node, confirm_node):
        try:
            node = choose(View(snapshot, LIAR))
        except FactUnavailable:
            continue
        assert node is None or node.address == find_trusted_address(View(snapshot, LIAR))


@every_lie
def test_no_word_of_a_host_is_let_in_by_another(lies: Mapping[str, Answer]) -> None:
    snapshot = replace_answers(build_snapshot(), {(probe, LIAR): answer for probe, answer in lies.items()})
    try:
        assert STRANGER not in json.dumps(list_host_flows(View(snapshot, NEIGHBOUR)))
    except FactUnavailable as error:
        assert LIAR in str(error)  # noqa: PT017 - both are right


@pytest.mark.parametrize("names", [LIES, ["system.identity"]], ids=["all", "its identity"])
def test_no_word_of_a_host_names_another_node_in_a_command(names: Collection[str]) -> None:
    """Bind the host's GPUs for virtual machines and exclude its node from the operator, so that commands name it."""
    changed_answers = {(probe, LIAR): LIES[probe] for probe in names}
    nodes = build_snapshot().answers["gpu.nodes", CLUSTER]
    excluded_hosts = json.loads(nodes.stdout)
    for item in excluded_hosts["items"]:
        item["metadata"].setdefault("labels", {})["nvidia.com/gpu.deploy.operands"] = "false"
    changed_answers["gpu.nodes", CLUSTER] = replace(nodes, stdout=json.dumps(excluded_hosts))
    hints = [
        result.hint
        for state in plan(replace_answers(build_snapshot(), changed_answers), STEPS).states
        for result in state.differences
    ]
    assert any("NODE" in hint for hint in hints)
    assert [hint for hint in hints if re.search(rf"\b{STRANGE_NAME}\b", hint)] == []


def test_the_lies_change_answers() -> None:
    """The test above would hold of answers in which nothing was changed."""
    assert {"network.address", "network.addresses", "system.identity", "system.hostname", FIREWALL.id} <= set(LIES)
    snapshot = replace_answers(build_snapshot(), {(probe, LIAR): answer for probe, answer in LIES.items()})
    node = find_node(View(snapshot, LIAR))
    assert node is not None
    assert node.name == STRANGE_NAME
    assert STRANGE_NAME in {node.name for node in View(snapshot, CLUSTER)[NODES]}


def test_install_refuses_a_host_with_an_address_that_ssh_did_not_reach() -> None:
    refuse_unconfirmed(build_snapshot())
    snapshot = replace_answers(build_snapshot(), {("network.address", LIAR): LIES["network.address"]})
    with pytest.raises(RolloutError) as excinfo:
        refuse_unconfirmed(snapshot)
    assert excinfo.value.reference == "node-address-unconfirmed"
    assert excinfo.value.reason.startswith(
        "k2: SSH reached 10.78.0.12, and the host reports 203.0.113.66; its addresses: "
    )
    with pytest.raises(FactUnavailable, match="gpustack_node_ip is not set"):
        find_node_address(View(snapshot, LIAR))
    assert "flows" not in build_overlay(snapshot)["all"]["hosts"][NEIGHBOUR]["gpustack"]["firewall"]
    assert LIAR not in {
        name for name, variables in build_overlay(snapshot)["all"]["hosts"].items() if "gpustack_host" in variables
    }


ROLES = Path(__file__).parents[2] / "playbooks" / "roles"
REPORTED_VARIABLES = re.compile(
    r"gpustack_host\.name|ansible_hostname|ansible_nodename|ansible_fqdn|ansible_default_ipv4"
)


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def list_tasks(nodes: Any) -> Iterator[Mapping[str, Any]]:
    for task in nodes or ():
        yield task
        for block in ("block", "rescue", "always"):
            yield from list_tasks(task.get(block))


def find_reported_variables(role: Path) -> set[str]:
    """Find the variables of a role that are made of what a host calls itself."""
    variables = read_yaml(role / "vars" / "main.yml") if (role / "vars" / "main.yml").exists() else {}
    return {name for name, value in variables.items() if REPORTED_VARIABLES.search(str(value))}


@pytest.mark.parametrize("role", sorted(ROLES.iterdir()), ids=lambda role: role.name)
def test_no_task_on_the_control_plane_uses_what_a_worker_calls_itself(role: Path) -> None:
    reported_variables = "|".join([*map(re.escape, find_reported_variables(role)), REPORTED_VARIABLES.pattern])
    delegated_tasks = [
        task for path in role.glob("tasks/*.yml") for task in list_tasks(read_yaml(path)) if "delegate_to" in task
    ]
    assert [
        task["name"] for task in delegated_tasks if re.search(rf"\b(?:{reported_variables})\b", json.dumps(task))
    ] == []
