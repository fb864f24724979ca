"""What is so now: pods that wait for GPUs, GPUs that are free, pods that do nothing with theirs."""

from collections.abc import Container, Iterator, Mapping

from gpustack.capacity.free import GPU, Node, find_free
from gpustack.capacity.idle import read_idle
from gpustack.capacity.source import Source
from gpustack.capacity.state import Now, Waiting
from gpustack.metrics.prometheus import Series

RESOURCES = 'resource=~"cpu|memory|nvidia_com_(gpu|gpu_shared|mig_.+)"'
GPUS = 'resource=~"nvidia_com_(gpu|gpu_shared|mig_.+)"'
ONE = "namespace, pod, uid"
REQUESTS = "kube_pod_container_resource_requests"


def see_now(source: Source) -> Now:
    at = source.prometheus.now()
    waiting = tuple(read_waiting(source))
    wanted: dict[str, dict[str, float]] = {pod_name(pod): {} for pod in waiting}
    asked = source.select(REQUESTS, f'{RESOURCES},node=""')
    for one in ask(source, f"sum by (namespace, pod, resource) (max by ({ONE}, container, resource) ({asked}))"):
        name = f"{one.labels['namespace']}/{one.labels['pod']}"
        if name in wanted:
            wanted[name][one.labels["resource"]] = value(one)
    free = tuple(find_free(read_nodes(source), wanted))
    return Now(at, waiting, free, tuple(sorted(read_idle(source, at), key=lambda pod: pod.since)))


def pod_name(pod: Waiting) -> str:
    return f"{pod.namespace}/{pod.pod}"


def ask(source: Source, expr: str) -> tuple[Series, ...]:
    return source.prometheus.instant(expr).series


def value(one: Series) -> float:
    return one.points[-1][1]


def who(one: Series) -> tuple[str, str, str]:
    return one.labels.get("namespace", ""), one.labels.get("pod", ""), one.labels.get("uid", "")


def read_waiting(source: Source) -> Iterator[Waiting]:
    """The longest first."""
    phase = source.select("kube_pod_status_phase", 'phase="Pending"')
    asked = source.select(REQUESTS, f'{GPUS},node=""')
    units = f"sum by ({ONE}, resource) (max by ({ONE}, container, resource) ({asked}))"
    times = f"max by ({ONE}) ({source.select('kube_pod_created')}) and on ({ONE}) {asked}"
    created = {who(one): value(one) for one in ask(source, times)}
    looked = f"max by ({ONE}) ({source.select('kube_pod_status_unschedulable')} == 1) and on ({ONE}) {asked}"
    refused = {who(one) for one in ask(source, looked)}
    found = [
        Waiting(*who(one)[:2], one.labels["resource"], value(one), created.get(who(one)), who(one) in refused)
        for one in ask(source, f"{units} * on ({ONE}) group_left () max by ({ONE}) ({phase} == 1)")
    ]
    yield from sorted(found, key=lambda pod: (pod.since is None, pod.since or 0.0, pod.namespace, pod.pod))


def read_nodes(source: Source) -> Mapping[str, Node]:
    """Those that offer GPUs."""
    nodes: dict[str, Node] = {}
    offered = source.select("kube_node_status_allocatable", RESOURCES)
    for one in ask(source, f"max by (node, resource) ({offered})"):
        nodes.setdefault(one.labels["node"], Node()).allocatable[one.labels["resource"]] = value(one)
    nodes = {name: node for name, node in nodes.items() if any(word.startswith(GPU) for word in node.allocatable)}
    phase = source.select("kube_pod_status_phase", 'phase=~"Pending|Running"')
    asked = source.select(REQUESTS, f'{RESOURCES},node!=""')
    taken = (
        f"sum by (node, resource) (max by (node, {ONE}, container, resource) ({asked}) "
        f"* on ({ONE}) group_left () max by ({ONE}) ({phase} == 1))"
    )
    ready = source.select("kube_node_status_condition", 'condition="Ready",status="true"')
    taints = source.select("kube_node_spec_taint", 'effect=~"NoSchedule|NoExecute"')
    for one in of_nodes(source, nodes, taken):
        nodes[one.labels["node"]].requested[one.labels["resource"]] = value(one)
    for one in of_nodes(source, nodes, f"max by (node) ({ready})"):
        nodes[one.labels["node"]].ready = value(one) == 1
    for one in of_nodes(source, nodes, f"max by (node) ({source.select('kube_node_spec_unschedulable')} == 1)"):
        nodes[one.labels["node"]].cordoned = True
    for one in of_nodes(source, nodes, f"max by (node, key, value) ({taints})"):
        taint = "=".join(filter(None, (one.labels.get("key"), one.labels.get("value"))))
        nodes[one.labels["node"]].taints.append(taint)
    return nodes


def of_nodes(source: Source, nodes: Container[str], expr: str) -> Iterator[Series]:
    return (one for one in ask(source, expr) if one.labels.get("node") in nodes)
