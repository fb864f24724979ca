"""The kubectl of node_api.py: `patch node`, `delete --raw` of a node and `create --raw` of an eviction. Its refusals
are those of kubectl 1.36.4 against a kube-apiserver 1.36.4."""

import json
import os
import sys
from pathlib import Path
from typing import Any

CONFLICT = (
    'Error from server (Conflict): Operation cannot be fulfilled on nodes "{}": the object has been modified; please '
    "apply your changes to the latest version and try again"
)
BUDGET = "Error from server (TooManyRequests): Cannot evict pod as it would violate the pod's disruption budget."
OTHER_VERSION = (
    'Error from server (Conflict): Operation cannot be fulfilled on Node "{}": the ResourceVersion in the precondition '
    "({}) does not match the ResourceVersion in record ({}). The object might have been modified"
)
MISSING = 'Error from server (NotFound): pods "{}" not found'
OTHER_UID = (
    'Error from server (Conflict): Operation cannot be fulfilled on Pod "{}": the UID in the precondition ({}) does '
    "not match the UID in record ({}). The object might have been deleted and then recreated"
)


PLUGIN = "device-plugin-daemonset"


def list_owners(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return list(pod["metadata"].get("ownerReferences", ()))


def restore_devices(objects: dict[str, Any]) -> None:
    """Offer all devices, as a kubelet does once a new pod of the device plugin has registered."""
    for node in objects["nodes"]:
        node["status"]["allocatable"] |= node["status"].get("capacity", {})


def run_systemd(words: list[str]) -> None:
    """Count a boot of the host in place of one."""
    assert words[-2:] == ["systemctl", "reboot"]
    path = Path(sys.argv[0]).with_name("objects.json")
    objects = json.loads(path.read_text())
    objects["boots"][os.environ["REBOOTED"]] += 1
    objects["calls"].append(["reboot", os.environ["REBOOTED"]])
    path.write_text(json.dumps(objects))


def run_kubectl(words: list[str]) -> None:
    path = Path(sys.argv[0]).with_name("objects.json")
    objects = json.loads(path.read_text())
    objects["calls"].append(words)
    refusal = change_objects(objects, words)
    path.write_text(json.dumps(objects))
    if refusal:
        sys.exit(refusal)


def change_objects(objects: dict[str, Any], words: list[str]) -> str:
    """Change the objects as the words say it, and return the refusal."""
    if "patch" in words:
        return change_node(objects, words)
    if "taint" in words:
        return mark_taint(objects, *words[words.index("node") + 1 :][:2])
    if "delete" in words and "--raw" in words:
        return delete_node(objects, words[words.index("--raw") + 1].rpartition("/")[2], json.load(sys.stdin))
    if "delete" in words:
        name = words[words.index("pod") + 1]
        deleted_pods = [pod for pod in objects["pods"] if pod["metadata"]["name"] == name]
        objects["pods"] = [pod for pod in objects["pods"] if pod not in deleted_pods]
        if any(owner["name"].endswith(PLUGIN) for pod in deleted_pods for owner in list_owners(pod)):
            restore_devices(objects)
        return ""
    return evict_pod(objects, json.load(sys.stdin))


def change_node(objects: dict[str, Any], words: list[str]) -> str:
    name, patch = words[words.index("node") + 1], json.loads(words[words.index("-p") + 1])
    (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == name)
    metadata = node["metadata"]
    if patch["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
        return CONFLICT.format(name)
    metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)
    metadata["annotations"] = merge_mapping(metadata.get("annotations", {}), patch["metadata"]["annotations"])
    if "spec" in patch:
        node["spec"] = merge_mapping(node.get("spec", {}), patch["spec"])
    if "unschedulable" in patch.get("spec", {}):
        (manager,) = (word.partition("=")[2] for word in words if word.startswith("--field-manager="))
        fields: dict[str, Any] = {"f:spec": {"f:unschedulable": {}}} if "unschedulable" in node["spec"] else {}
        metadata["managedFields"] = [{"manager": manager, "fieldsV1": fields}]
    return ""


def delete_node(objects: dict[str, Any], name: str, options: dict[str, Any]) -> str:
    (metadata,) = (node["metadata"] for node in objects["nodes"] if node["metadata"]["name"] == name)
    version = options["preconditions"]["resourceVersion"]
    if version != metadata["resourceVersion"]:
        return OTHER_VERSION.format(name, version, metadata["resourceVersion"])
    objects["nodes"] = [node for node in objects["nodes"] if node["metadata"]["name"] != name]
    return ""


def mark_taint(objects: dict[str, Any], name: str, word: str) -> str:
    """Taint a node, or end a taint of it."""
    (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == name)
    taints = node.setdefault("taints", [])
    if not word.endswith("-"):
        taints.append(word)
    elif not taints:
        return f'error: taint "{word[:-1]}" not found'
    else:
        taints.clear()
    return ""


def merge_mapping(mapping: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Merge as RFC 7396 says it, one level deep: null removes."""
    return {key: value for key, value in {**mapping, **patch}.items() if value is not None}


def evict_pod(objects: dict[str, Any], eviction: dict[str, Any]) -> str:
    name, uid = eviction["metadata"]["name"], eviction["deleteOptions"]["preconditions"]["uid"]
    pods = [pod for pod in objects["pods"] if pod["metadata"]["name"] == name]
    if not pods:
        return MISSING.format(name)
    metadata = pods[0]["metadata"]
    if metadata["uid"] != uid:
        return OTHER_UID.format(name, uid, metadata["uid"])
    app = metadata.get("labels", {}).get("app", "")
    for budget in objects["budgets"]:
        if budget["spec"]["selector"].get("matchLabels", {}).get("app") == app:
            if budget["status"]["disruptionsAllowed"] <= 0:
                return BUDGET
            budget["status"]["disruptionsAllowed"] -= 1
    metadata["deletionTimestamp"] = "2026-11-30T00:30:00Z"
    return ""
