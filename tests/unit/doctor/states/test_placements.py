"""DaemonSets that exclude a node, which their controllers do not count.

The fields are those that a lab cluster of 2026-11-30 had after kubectl patch of kube-flannel-ds with a nodeSelector,
and after kubectl taint of a node with NoExecute.
"""

from typing import Any

import pytest

from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import diagnose_items, find_item, list_states, read_items

NODE_EXPORTER = "monitoring-prometheus-node-exporter"


def drop_nodes(entry: dict[str, Any], *nodes_with_pods: str) -> None:
    """Change a DaemonSet as its controller counts it that has pods on the `nodes_with_pods` alone."""
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberReady")
    entry["status"] |= dict.fromkeys(counts, len(nodes_with_pods))


def list_exclusions(
    name: str, sets: str, pods: str, *nodes_with_pods: str, selector: dict[str, str]
) -> list[AbnormalState]:
    items, pod_items, nodes = read_items(sets), read_items(pods), read_items("kube.nodes")
    drop_nodes(find_item(items, name), *nodes_with_pods)
    find_item(items, name)["spec"]["template"] = {"spec": {"nodeSelector": selector} if selector else {}}
    remaining_pods = [
        pod
        for pod in pod_items
        if not pod["metadata"]["name"].startswith(name) or pod["spec"]["nodeName"] in nodes_with_pods
    ]
    for node in nodes:
        if node["metadata"]["name"] not in nodes_with_pods and not selector:
            node["spec"]["taints"] = [{"key": "dedicated", "value": "ml", "effect": "NoExecute"}]
    changes = {
        sets.replace(".", "__").replace("-", "_"): items,
        pods.replace(".", "__"): remaining_pods,
        "kube__nodes": nodes,
    }
    return list_states(diagnose_items(**changes), "node-uncovered")


def test_flannel_on_no_node_is_broken_and_names_the_node_selector() -> None:
    selector = {"node-role.kubernetes.io/worker": ""}
    (state,) = list_exclusions("kube-flannel-ds", "workloads.flannel-daemon-sets", "pods.flannel", selector=selector)
    assert (state.severity, state.subjects) == ("broken", ("daemonset kube-flannel/kube-flannel-ds",))
    assert state.message.endswith("the DaemonSet has the nodeSelector node-role.kubernetes.io/worker=")


def test_a_node_that_a_taint_excludes_is_named_with_it() -> None:
    (state,) = list_exclusions("kube-proxy", "workloads.system-daemon-sets", "pods.system", "k1", selector={})
    assert state.severity == "risk"
    assert "the node has dedicated:NoExecute" in state.message
    assert len(state.locations) == 1


@pytest.mark.parametrize("probe", ["workloads.flannel-daemon-sets", "workloads.system-daemon-sets"])
def test_a_daemon_set_on_every_node_is_no_state(probe: str) -> None:
    assert list_states(diagnose_items(**{probe.replace(".", "__").replace("-", "_"): read_items(probe)})) == []
