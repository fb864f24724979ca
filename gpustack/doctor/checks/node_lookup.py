"""Lookup of a node's entries in a list of the cluster. The list is grouped once, not searched again for each host."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.probes.kubernetes.pod_states import MONITORING_PODS
from gpustack.steps.own_node import find_node

Kind = TypeVar("Kind")
APP_LABEL = "app.kubernetes.io/name"
PROMETHEUS, OPERATOR = "prometheus", "kube-prometheus-stack-prometheus-operator"
"""Values of APP_LABEL in the chart kube-prometheus-stack."""


def select_node_name(entry: Any) -> str:
    return str(entry.node)


def list_own_node_entries(view: View, probe: Probe[tuple[Kind, ...]]) -> Sequence[Kind]:
    """List the entries of a probe of the cluster that are of this host's node. A host that is not a node has none."""
    node = find_node(view)
    return list_node_entries(view, probe, node.name if node else "")


def list_node_entries(
    view: View, probe: Probe[tuple[Kind, ...]], name: str, key: Callable[[Kind], str] = select_node_name
) -> Sequence[Kind]:
    """List the entries of a probe that are of a node. `key` returns the node of an entry."""
    by_node = view.compute_once(group_by_node, probe, key)
    return by_node.get(name, ()) if name else ()


def group_by_node(
    view: View, probe: Probe[tuple[Kind, ...]], key: Callable[[Kind], str]
) -> Mapping[str, Sequence[Kind]]:
    entries_by_node: dict[str, list[Kind]] = {}
    for entry in view[probe]:
        entries_by_node.setdefault(key(entry), []).append(entry)
    return entries_by_node


def list_app_nodes(view: View, app: str) -> list[str]:
    """List the nodes with pods of the monitoring that have this app.kubernetes.io/name."""
    pods = (pod for pod in view[MONITORING_PODS] if pod.labels.get(APP_LABEL) == app)
    return sorted(pod.node for pod in pods if pod.node)
