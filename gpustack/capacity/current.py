"""The current state: pods that wait for GPUs, free GPUs, and pods that do nothing with theirs."""

from collections.abc import Collection, Container, Iterator, Mapping

from gpustack.capacity.free_units import GPU, Node, find_common_unit, find_free
from gpustack.capacity.idle_pods import query_idle_pods
from gpustack.capacity.source import Source
from gpustack.capacity.state import CurrentState, WaitingPod
from gpustack.errors import UnreachableError
from gpustack.files.number import LARGEST
from gpustack.metrics.prometheus import LAST_TIME, Series, require_label
from gpustack.times import HOUR

RESOURCES = 'resource=~"cpu|memory|nvidia_com_(gpu|gpu_shared|mig_.+)"'
GPUS = 'resource=~"nvidia_com_(gpu|gpu_shared|mig_.+)"'
POD_KEY = "namespace, pod, uid"
REQUESTS = "kube_pod_container_resource_requests"
RECENT = 2 * HOUR
"""Seconds: a window ends with a whole hour, and that hour is known for a while after it."""


def query_current_state(source: Source, units: Mapping[tuple[str, str], float]) -> CurrentState:
    """Query the current state. `units` has by node and resource how many GPUs one unit was at the end of the window,
    which says nothing of today where that is long ago."""
    time = source.prometheus.fetch_time()
    nodes = query_nodes(source)
    if time - source.window.end < RECENT:
        for (name, resource), gpus in units.items():
            if name in nodes:
                nodes[name].gpus_per_unit[resource] = gpus
    waiting_pods = tuple(query_waiting_pods(source, nodes.values()))
    waiting_requests: dict[str, dict[str, float]] = {f"{pod.namespace}/{pod.pod}": {} for pod in waiting_pods}
    requests = source.select(REQUESTS, f'{RESOURCES},node=""')
    for series in query_series(
        source, f"sum by (namespace, pod, resource) (max by ({POD_KEY}, container, resource) ({requests}))"
    ):
        name = "/".join(extract_pod_key(series)[:2])
        if name in waiting_requests:
            waiting_requests[name][require_label(series.labels, "resource")] = extract_value(series)
    free_units = tuple(find_free(nodes, waiting_requests))
    return CurrentState(
        time, waiting_pods, free_units, tuple(sorted(query_idle_pods(source, time), key=lambda pod: pod.idle_since))
    )


def query_series(source: Source, expr: str) -> tuple[Series, ...]:
    return source.prometheus.query_instant(expr)


def extract_value(series: Series, maximum: float = LARGEST) -> float:
    """Extract the newest value, from 0 to `maximum`. Raise UnreachableError for another one: kube-state-metrics never
    sends such a value."""
    value = series.find_newest_value()
    if value is None or not 0 <= value <= maximum:
        message = f"Prometheus has {series.points[-1][1]} as a value of kube-state-metrics."
        raise UnreachableError("prometheus-answer", message, f"The labels of the series: {dict(series.labels)}")
    return value


def extract_pod_key(series: Series) -> tuple[str, str, str]:
    return series.labels.get("namespace", ""), series.labels.get("pod", ""), series.labels.get("uid", "")


def query_waiting_pods(source: Source, nodes: Collection[Node]) -> Iterator[WaitingPod]:
    """Query the pods that wait for GPUs of these nodes, the longest first."""
    phase = source.select("kube_pod_status_phase", 'phase="Pending"')
    requests = source.select(REQUESTS, f'{GPUS},node=""')
    units = f"sum by ({POD_KEY}, resource) (max by ({POD_KEY}, container, resource) ({requests}))"
    unit_query = f"{units} * on ({POD_KEY}) group_left () max by ({POD_KEY}) ({phase} == 1)"
    time_query = f"max by ({POD_KEY}) ({source.select('kube_pod_created')}) and on ({POD_KEY}) {requests}"
    times = {extract_pod_key(series): extract_value(series, LAST_TIME) for series in query_series(source, time_query)}
    unschedulable = source.select("kube_pod_status_unschedulable")
    unschedulable_query = f"max by ({POD_KEY}) ({unschedulable} == 1) and on ({POD_KEY}) {requests}"
    unschedulable_pods = {extract_pod_key(series) for series in query_series(source, unschedulable_query)}
    waiting_pods = [
        WaitingPod(
            *extract_pod_key(request_series)[:2],
            require_label(request_series.labels, "resource"),
            extract_value(request_series),
            times.get(extract_pod_key(request_series)),
            extract_pod_key(request_series) in unschedulable_pods,
            find_common_unit(nodes, request_series.labels["resource"]),
        )
        for request_series in query_series(source, unit_query)
    ]
    yield from sorted(
        waiting_pods, key=lambda pod: (pod.waiting_since is None, pod.waiting_since, pod.namespace, pod.pod)
    )


def query_nodes(source: Source) -> Mapping[str, Node]:
    """Query the nodes that offer GPUs."""
    nodes: dict[str, Node] = {}
    allocatable_selector = source.select("kube_node_status_allocatable", RESOURCES)
    for series in query_series(source, f"max by (node, resource) ({allocatable_selector})"):
        node = nodes.setdefault(require_label(series.labels, "node"), Node())
        node.allocatable[require_label(series.labels, "resource")] = extract_value(series)
    nodes = {name: node for name, node in nodes.items() if any(word.startswith(GPU) for word in node.allocatable)}
    phase = source.select("kube_pod_status_phase", 'phase=~"Pending|Running"')
    requests = source.select(REQUESTS, f'{RESOURCES},node!=""')
    request_query = (
        f"sum by (node, resource) (max by (node, {POD_KEY}, container, resource) ({requests}) "
        f"* on ({POD_KEY}) group_left () max by ({POD_KEY}) ({phase} == 1))"
    )
    ready = source.select("kube_node_status_condition", 'condition="Ready",status="true"')
    taints = source.select("kube_node_spec_taint", 'effect=~"NoSchedule|NoExecute"')
    for series in query_node_series(source, nodes, request_query):
        nodes[series.labels["node"]].requests[require_label(series.labels, "resource")] = extract_value(series)
    for series in query_node_series(source, nodes, f"max by (node) ({ready})"):
        nodes[series.labels["node"]].ready = extract_value(series) == 1
    for series in query_node_series(
        source, nodes, f"max by (node) ({source.select('kube_node_spec_unschedulable')} == 1)"
    ):
        nodes[series.labels["node"]].cordoned = True
    for series in query_node_series(source, nodes, f"max by (node, key, value) ({taints})"):
        taint = "=".join(filter(None, (series.labels.get("key"), series.labels.get("value"))))
        nodes[series.labels["node"]].taints.append(taint)
    return nodes


def query_node_series(source: Source, nodes: Container[str], expr: str) -> Iterator[Series]:
    return (series for series in query_series(source, expr) if series.labels.get("node") in nodes)
