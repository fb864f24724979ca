"""The Kubernetes API as it answers on the acting control plane.

Facts are unavailable where there is no kubectl, no admin.conf or no answer; only `kube.readyz` takes a refusal for an
answer. Lists are asked, never single objects: an empty list needs no error text to be understood.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.api import ABSENT
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.kubernetes.names import require_names


@dataclass(frozen=True)
class Readiness:
    """`why` is what the API server, or the way to it, said instead of ok."""

    ready: bool
    why: str = ""


@dataclass(frozen=True)
class Node:
    """`reason` is why it is not Ready; `taints` as `key:effect`; `pod_cidr` is empty until one is given; `address` is
    its InternalIP."""

    name: str
    address: str
    machine_id: str
    kubelet: str
    ready: bool
    reason: str
    pod_cidr: str
    taints: tuple[str, ...]


@dataclass(frozen=True)
class Deployment:
    """`available` is the API's own judgement; `wanted` and `ready` count replicas; `refused` as of `refusal`."""

    available: bool
    wanted: int
    ready: int
    refused: str = ""


def body(answer: Answer) -> Any:
    return load_json(answer.out)


def entries(answer: Answer) -> list[Any]:
    """Return the objects of a list. Raises KeyError or ValueError for what is no list, and
    FactUnavailable where a name is none."""
    found = body(answer)["items"]
    if not isinstance(found, list):
        raise ValueError("no list")
    for entry in found:
        require_names(entry)
    return found


def entries_if_known(answer: Answer) -> list[Any] | None:
    """As `entries`, of a probe that may end with 1: None while the API does not know the kind. Raises ValueError for
    another refusal."""
    if answer.rc:
        if ABSENT in answer.err:
            return None
        raise ValueError(answer.err)
    return entries(answer)


def readyz(answer: Answer) -> Readiness:
    """Raises ValueError where there is no kubectl or no admin.conf to ask with."""
    if answer.rc == 0 and answer.out.strip() == "ok":
        return Readiness(ready=True)
    text = (answer.err or answer.out).strip()
    if answer.rc in (126, 127) or "no such file" in text or not text:
        raise ValueError(text)
    return Readiness(ready=False, why=text.splitlines()[-1][:300])


def version(answer: Answer) -> str:
    """`1.36.4`. Raises ValueError for what is no version."""
    found = str(body(answer)["gitVersion"])
    if not found.startswith("v"):
        raise ValueError(found)
    return found.removeprefix("v")


def nodes(answer: Answer) -> tuple[Node, ...]:
    return tuple(node(entry) for entry in entries(answer))


def node(entry: Any) -> Node:
    spec, status = entry.get("spec", {}), entry["status"]
    ready, reason = ready_or_why(status)
    return Node(
        name=entry["metadata"]["name"],
        address=next((found["address"] for found in status.get("addresses", ()) if found["type"] == "InternalIP"), ""),
        machine_id=status["nodeInfo"]["machineID"],
        kubelet=status["nodeInfo"]["kubeletVersion"].removeprefix("v"),
        ready=ready,
        reason=reason,
        pod_cidr=spec.get("podCIDR", ""),
        taints=tuple(sorted(f"{taint['key']}:{taint['effect']}" for taint in spec.get("taints", ()))),
    )


def ready_or_why(status: Any) -> tuple[bool, str]:
    """Whether a node of this status is Ready, and why not."""
    ready = next((found for found in status.get("conditions", ()) if found["type"] == "Ready"), None)
    fine = ready is not None and ready["status"] == "True"
    return fine, "" if fine else (ready or {}).get("message", "it never reported")


def deployments(answer: Answer) -> Mapping[str, Deployment]:
    return {entry["metadata"]["name"]: deployment(entry) for entry in entries(answer)}


def deployment(entry: Any) -> Deployment:
    status = entry["status"]
    conditions = {found["type"]: found["status"] for found in status.get("conditions", ())}
    available, ready = conditions.get("Available") == "True", status.get("readyReplicas", 0)
    return Deployment(available, entry["spec"]["replicas"], ready, refusal(status))


def refusal(status: Any) -> str:
    """What the API server refuses a Deployment its pods with: a webhook, a quota, Pod Security; empty where it makes
    them. The controllers of DaemonSets and StatefulSets set no such condition (kubernetes/api apps/v1/types.go,
    ReplicaFailure)."""
    found = (one for one in status.get("conditions", ()) if one["type"] == "ReplicaFailure" and one["status"] == "True")
    return next((str(one.get("message", "")) for one in found), "")


def add_reason(words: str, refused: str) -> str:
    """The words, and with what the API server refuses the pods."""
    return f"{words}: {refused}" if refused else words


CONDITIONS = ("status.conditions.type", "status.conditions.status", "status.conditions.message")
NODE_INFO = ("status.nodeInfo.machineID", "status.nodeInfo.kubeletVersion")

# A refusal is 1, or what curl(1) ended with before this read: no name, no connection, too late, TLS, broken off.
READYZ = Probe("kube.readyz", Api("/readyz"), readyz, ends=(0, 1, 6, 7, 28, 35, 52, 56, 60))
VERSION = Probe("kube.version", Api("/version", ("gitVersion",)), version)
NODES = Probe(
    "kube.nodes",
    Api("/api/v1/nodes", ("metadata.name", "spec.podCIDR", "spec.taints", "status.addresses", *CONDITIONS, *NODE_INFO)),
    nodes,
)
DEPLOYMENTS = Probe(
    "kube.deployments",
    Api(
        "/apis/apps/v1/namespaces/kube-system/deployments",
        ("metadata.name", "spec.replicas", "status.readyReplicas", *CONDITIONS),
    ),
    deployments,
)
