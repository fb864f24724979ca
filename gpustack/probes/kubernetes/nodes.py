"""The Kubernetes API as it answers on the acting control plane.

Facts are unavailable where there is no kubectl, no admin.conf or no answer; only `kube.readyz` takes a refusal for an
answer. Lists are read, never single objects: an empty list needs no error text to be understood.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import GenericAlias
from typing import Any, TypeVar

from gpustack.ask.api import ABSENT
from gpustack.ask.api_list import read_items
from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.ask.type_check import resolve_return_type
from gpustack.files.json_text import load_json
from gpustack.probes.kubernetes.names import require_names
from gpustack.probes.parsing import parse_optional_time

Item = TypeVar("Item")


@dataclass(frozen=True)
class Readiness:
    """Hold whether the API server is ready. `reason` is the message of the API server, or of the way to it, in place of
    ok."""

    ready: bool
    reason: str = ""


@dataclass(frozen=True)
class NodeCondition:
    """Describe a condition of a node: its `kind`, such as DiskPressure, `status` (True, False or Unknown), the message
    of who set it, and when it became so."""

    kind: str
    status: str
    message: str
    onset: datetime | None


@dataclass(frozen=True)
class Node:
    """Describe a node: `reason` is why it is not Ready; `taints` as `key:effect`; `pod_cidr` is empty until it has one;
    `address` is its InternalIP; `conditions` are the others than Ready."""

    name: str
    address: str
    machine_id: str
    kubelet: str
    ready: bool
    reason: str
    pod_cidr: str
    taints: tuple[str, ...]
    conditions: tuple[NodeCondition, ...] = ()


@dataclass(frozen=True)
class Deployment:
    """Describe a Deployment: `available` is the API's own judgement; `desired_pods` and `ready` count replicas;
    `refusal` is as `find_pod_refusal` returns it."""

    available: bool
    desired_pods: int
    ready: int
    refusal: str = ""


def load_body(answer: Answer) -> Any:
    return load_json(answer.stdout)


def list_objects(answer: Answer) -> list[Any]:
    """Return the objects of a list. Raise KeyError or ValueError where the answer is no list, and FactUnavailable where
    a name is not accepted."""
    objects = read_items(load_body(answer))
    for entry in objects:
        require_names(entry)
    return objects


def parse_each(parse: Callable[[Any], Item]) -> Callable[[Answer], tuple[Item, ...]]:
    """Return a parser of a list that parses each of its objects. A fact is checked by the annotation of its parser."""

    def parse_objects(answer: Answer) -> tuple[Item, ...]:
        return tuple(parse(entry) for entry in list_objects(answer))

    parse_objects.__annotations__["return"] = GenericAlias(tuple, (resolve_return_type(parse), Ellipsis))
    return parse_objects


def list_objects_if_known(answer: Answer) -> list[Any] | None:
    """Return the objects as `list_objects`, of a probe that may end with 1: None while the API does not know the kind.

    Raise ValueError where it refuses for another reason.
    """
    if answer.rc:
        if ABSENT in answer.stderr:
            return None
        raise ValueError(answer.stderr)
    return list_objects(answer)


def parse_readiness(answer: Answer) -> Readiness:
    """Parse whether the API server is ready. Raise ValueError where there is no kubectl or no admin.conf to ask
    with."""
    if answer.rc == 0 and answer.stdout.strip() == "ok":
        return Readiness(ready=True)
    text = (answer.stderr or answer.stdout).strip()
    if answer.rc in (126, 127) or "no such file" in text or not text:
        raise ValueError(text)
    return Readiness(ready=False, reason=shorten_message(text.splitlines()[-1]))


def parse_server_version(answer: Answer) -> str:
    """Parse a version like `1.36.4`. Raise ValueError where the answer has none."""
    version = str(load_body(answer)["gitVersion"])
    if not version.startswith("v"):
        raise ValueError(version)
    return version.removeprefix("v")


def parse_node(entry: Any) -> Node:
    spec, status = entry.get("spec", {}), entry["status"]
    ready, reason = parse_ready_condition(status)
    return Node(
        name=entry["metadata"]["name"],
        address=next(
            (
                node_address["address"]
                for node_address in status.get("addresses", ())
                if node_address["type"] == "InternalIP"
            ),
            "",
        ),
        machine_id=status["nodeInfo"]["machineID"],
        kubelet=status["nodeInfo"]["kubeletVersion"].removeprefix("v"),
        ready=ready,
        reason=reason,
        pod_cidr=spec.get("podCIDR", ""),
        taints=tuple(sorted(f"{taint['key']}:{taint['effect']}" for taint in spec.get("taints", ()))),
        conditions=tuple(parse_node_conditions(status)),
    )


def list_unready_nodes(nodes: tuple[Node, ...]) -> set[str]:
    """List the names of the nodes that are not Ready."""
    return {node.name for node in nodes if not node.ready}


def parse_node_conditions(status: Any) -> Iterator[NodeCondition]:
    for condition in status.get("conditions", ()):
        if condition["type"] != "Ready":
            message, onset = shorten_message(condition.get("message", "")), condition.get("lastTransitionTime")
            yield NodeCondition(condition["type"], condition["status"], message, parse_optional_time(onset))


def parse_ready_condition(status: Any) -> tuple[bool, str]:
    """Parse whether a node of this status is Ready, and why not."""
    ready = next((condition for condition in status.get("conditions", ()) if condition["type"] == "Ready"), None)
    is_ready = ready is not None and ready["status"] == "True"
    return is_ready, "" if is_ready else (ready or {}).get("message", "it never reported")


def parse_deployments(answer: Answer) -> Mapping[str, Deployment]:
    return {entry["metadata"]["name"]: parse_deployment(entry) for entry in list_objects(answer)}


def parse_deployment(entry: Any) -> Deployment:
    status = entry["status"]
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    available, ready = conditions.get("Available") == "True", status.get("readyReplicas", 0)
    return Deployment(available, entry["spec"]["replicas"], ready, find_pod_refusal(status))


def find_pod_refusal(status: Any) -> str:
    """Find why the API server refuses the pods of a Deployment: a webhook, a quota, Pod Security; empty where it
    accepts them.

    The controllers of DaemonSets and StatefulSets set no such condition (kubernetes/api apps/v1/types.go,
    ReplicaFailure).
    """
    failures = (
        condition
        for condition in status.get("conditions", ())
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True"
    )
    return next((str(failure.get("message", "")) for failure in failures), "")


def add_reason(words: str, reason: str) -> str:
    """Add the reason for which the API server refuses the pods to a text."""
    return f"{words}: {reason}" if reason else words


CONDITIONS = ("status.conditions.type", "status.conditions.status", "status.conditions.message")
NODE_INFO = ("status.nodeInfo.machineID", "status.nodeInfo.kubeletVersion")

# A refusal is 1, or what curl(1) ended with before this read: no name, no connection, too late, TLS, broken off.
READYZ = Probe("kube.readyz", Api("/readyz"), parse_readiness, exit_codes=(0, 1, 6, 7, 28, 35, 52, 56, 60))
VERSION = Probe("kube.version", Api("/version", ("gitVersion",)), parse_server_version)
NODES = Probe(
    "kube.nodes",
    Api(
        "/api/v1/nodes",
        (
            "metadata.name", "spec.podCIDR", "spec.taints", "status.addresses", *CONDITIONS,
            "status.conditions.lastTransitionTime", *NODE_INFO,
        ),
    ),
    parse_each(parse_node),
)  # fmt: skip
DEPLOYMENTS = Probe(
    "kube.deployments",
    Api(
        "/apis/apps/v1/namespaces/kube-system/deployments",
        ("metadata.name", "spec.replicas", "status.readyReplicas", *CONDITIONS),
    ),
    parse_deployments,
)
