"""Node labels: the node of each host has the labels and taints that the inventory gives the host.

gpustack_labels and gpustack_taints are variables of hosts or groups; of several, the one nearest to the host counts, as
always with Ansible. Labels are applied server-side by the field manager gpustack-nodes, so that the API server knows
which are gpustack's. All taints of a node are one field in the API: they are changed by a patch of exactly the version
of the node that was read, with the annotation gpustack.io/taints, which names those of gpustack.

A label or taint that the inventory names no longer is removed if gpustack set it, and nobody else has set it since. One
that somebody else set is never changed or removed: where it has another value than the inventory says, `plan` names who
set it, and you decide. Labels and taints go with the node when a reset deletes it. A taint keeps pods away that do not
tolerate it, and ends none: the effect NoExecute is refused. NVIDIA's components tolerate the taints of the inventory.
The proof and the daily diagnostic are ordinary pods: they skip a node with another taint than nvidia.com/gpu.

On hosts without Kubernetes the variables do nothing.

Settings: gpustack_labels, gpustack_taints. Sources: Kubernetes' documentation of server-side apply and of taints and
tolerations; kubernetes/api core/v1/types.go, NodeSpec.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import HostSpec
from gpustack.config.node_marks import split_taint
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.node_labels import NODE_LABELS, NodeLabels, format_whole_taint
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.gpu.hosts import build_hosts_result, find_writable_node
from gpustack.steps.step import Step


@dataclass(frozen=True)
class Change:
    """Describe what a node lacks. `labels` are all that gpustack is to have applied; of `differences` each is one of
    labels; `added_taints` and `removed_taints` are those of gpustack, and `recorded_taints` all that it is to have set.
    `conflicts` are those that somebody else has set otherwise."""

    node: str
    uid: str
    labels: Mapping[str, str]
    differences: tuple[str, ...]
    added_taints: tuple[str, ...]
    removed_taints: tuple[str, ...]
    recorded_taints: tuple[str, ...]
    conflicts: tuple[str, ...]


def map_changes(view: View) -> Mapping[str, Change]:
    """Map hosts to what their nodes lack, of those nodes that are certain."""
    return view.compute_once(compute_changes)


def compute_changes(view: View) -> Mapping[str, Change]:
    nodes = {node.name: node for node in view[NODE_LABELS]}
    names = {host.name: find_writable_node(view, host.name) for host in view.hosts}
    return {
        host: compute_change(nodes[node], view.select_host(host).host.spec)
        for host, node in names.items()
        if node in nodes
    }


def compute_change(node: NodeLabels, spec: HostSpec) -> Change:
    labels, conflicts, differences = dict[str, str](), list[str](), list[str]()
    for key, value in spec.gpustack_labels.items():
        is_owned, actual = key in node.own_labels, node.labels.get(key)
        is_free = actual is None or (is_owned and key not in node.label_managers)
        if is_free or (is_owned and actual == value):
            labels[key] = value
        if actual == value:
            continue
        difference = f"{key}={'none' if actual is None else actual} instead of {value or 'an empty value'}"
        if is_free:
            differences.append(difference)
        else:
            conflicts.append(f"{difference}, set by {node.label_managers.get(key) or 'others'}")
    leftovers = sorted(node.own_labels & node.labels.keys() - spec.gpustack_labels.keys())
    differences += [f"{key}={node.labels[key]} instead of none" for key in leftovers if key not in node.label_managers]
    expected_taints = [normalize_taint(taint) for taint in spec.gpustack_taints]
    present_taints = set(node.taints)
    foreign_taints = {split_taint(taint)[::2]: taint for taint in node.taints if taint not in node.own_taints}
    conflicts += [
        f"{foreign_taint} instead of {taint}"
        for taint in expected_taints
        if (foreign_taint := foreign_taints.get(split_taint(taint)[::2])) and foreign_taint != taint
    ]
    free_taints = [taint for taint in expected_taints if split_taint(taint)[::2] not in foreign_taints]
    return Change(
        node.name,
        node.uid,
        labels,
        tuple(differences),
        tuple(taint for taint in free_taints if taint not in present_taints),
        tuple(taint for taint in node.own_taints if taint not in expected_taints),
        tuple(free_taints),
        tuple(conflicts),
    )


def normalize_taint(taint: str) -> str:
    """Normalise a taint to the form that the probe has: without the equals sign where it has no value."""
    return format_whole_taint(build_taint(taint))


def labels(view: View) -> Result | None:
    """The nodes have the labels that the inventory gives their hosts, and none that gpustack set for an earlier one."""
    differences = {
        host: format_value(change.differences) for host, change in map_changes(view).items() if change.differences
    }
    require_nodes(view, differences, {host.name for host in view.hosts if host.spec.gpustack_labels})
    return build_hosts_result("labels of nodes", "those of gpustack_labels", differences)


def require_nodes(view: View, differences: Mapping[str, str], hosts: Collection[str]) -> None:
    """Raise FactUnavailable where there are no differences, and the node of one of these hosts is unknown."""
    unknown_hosts = sorted(set(hosts) - map_changes(view).keys())
    if unknown_hosts and not differences:
        raise FactUnavailable(f"{format_value(unknown_hosts)}: the node is missing, or not certain")


def taints(view: View) -> Result | None:
    """The nodes have the taints that the inventory gives their hosts, and none that gpustack set for an earlier one."""
    differences = {
        host: "; ".join(describe_taints(change))
        for host, change in map_changes(view).items()
        if change.added_taints or change.removed_taints
    }
    require_nodes(view, differences, {host.name for host in view.hosts if host.spec.gpustack_taints})
    return build_hosts_result("taints of nodes", "those of gpustack_taints", differences)


def describe_taints(change: Change) -> Iterator[str]:
    if change.added_taints:
        yield f"without {format_value(change.added_taints)}"
    if change.removed_taints:
        yield f"{format_value(change.removed_taints)} of an earlier inventory"


def owners(view: View) -> Result | None:
    """Nobody else has set a label or taint of the inventory otherwise on its node. gpustack leaves such a one as it is:
    remove it from the node or from the inventory."""
    changes = {host: change for host, change in map_changes(view).items() if change.conflicts}
    conflicts = {host: "; ".join(change.conflicts) for host, change in changes.items()}
    nodes = [change.node for change in changes.values()]
    hint = Command("kubectl", "get", "node", *nodes, "-o", "yaml", "--show-managed-fields", note="names who set it")
    return build_hosts_result(
        "labels and taints of others", "none that the inventory names", conflicts, "operator", hint
    )


def build_variables(view: View) -> dict[str, Any]:
    """Build what the role applies, by node that differs: an object for server-side apply, empty where the labels do not
    differ, and the changes of taints."""
    changes = [
        change
        for change in map_changes(view).values()
        if change.differences or change.added_taints or change.removed_taints
    ]
    return {"nodes": [build_node_variables(change) for change in changes]}


def build_node_variables(change: Change) -> dict[str, Any]:
    metadata = {"name": change.node, "uid": change.uid, "labels": change.labels}
    manifest = {"apiVersion": "v1", "kind": "Node", "metadata": metadata} if change.differences else {}
    return {
        "name": change.node,
        "uid": change.uid,
        "object": manifest,
        "added_taints": [build_taint(taint) for taint in change.added_taints],
        "removed_taints": [build_taint(taint) for taint in change.removed_taints],
        "recorded_taints": [build_taint(taint) for taint in change.recorded_taints],
    }


def build_taint(taint: str) -> dict[str, str]:
    key, value, effect = split_taint(taint)
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


STEP = Step(
    "node-labels",
    scope="cluster",
    probes=(NODE_LABELS, NODES, IDENTITY, ADDRESS),
    checks=(labels, taints, owners),
    needs=("control-plane",),
    predecessors=("workers",),
    settle_seconds=10,
)
