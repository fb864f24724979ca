"""Series of kube-state-metrics v2.20 about nodes, namespaces and pods that ask for GPUs: names, labels and when each is
there, from internal/store/{pod,node,namespace}.go. Prometheus drops empty labels, so a pod without a node has no label
`node`. `unit` is integer for extended resources. All five phases are there, four of them 0.
"""

from collections.abc import Iterator, Sequence

from tests.worlds.life.activity import draw_restarts
from tests.worlds.life.clock import NO_TIME
from tests.worlds.life.hardware import Node
from tests.worlds.life.pod import Pod
from tests.worlds.life.samples import Pieces
from tests.worlds.life.steps import Steps
from tests.worlds.life.targets import Target
from tests.worlds.life.teams import Team
from tests.worlds.life.truth import list_capacity, subtract_broken

Series = tuple[str, dict[str, str], Pieces]
PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")


def build_pod_series(pod: Pod, seed: int, end: float) -> Iterator[Series]:
    labels_of_pod = {"namespace": pod.namespace, "pod": pod.name, "uid": pod.uid}
    lifetime: Pieces = [(pod.creation, pod.deletion, 1.0)]
    binding = min(pod.binding, pod.deletion)
    places: list[tuple[dict[str, str], float, float]] = [
        ({}, pod.creation, binding),
        ({"node": pod.on}, pod.binding, pod.deletion),
    ]
    created_by = {"created_by_kind": pod.owner_kind, "created_by_name": pod.owner} if pod.owner_kind else {}
    for node, begin, last in places:
        if begin >= last:
            continue
        yield "kube_pod_info", {**labels_of_pod, **node, **created_by, "host_network": "false"}, [(begin, last, 1.0)]
        container = {**labels_of_pod, **node, "container": "main"}
        request = {**container, "resource": pod.resource, "unit": "integer"}
        yield "kube_pod_container_resource_requests", request, [(begin, last, float(pod.units))]
        cores = {**container, "resource": "cpu", "unit": "core"}
        yield "kube_pod_container_resource_requests", cores, [(begin, last, 8.0 * pod.units)]
    owner = (
        {"owner_kind": pod.owner_kind, "owner_name": pod.owner, "owner_is_controller": "true"} if pod.owner_kind else {}
    )
    yield "kube_pod_owner", {**labels_of_pod, **owner}, lifetime
    yield "kube_pod_labels", {**labels_of_pod, **({"label_team": pod.label} if pod.label else {})}, lifetime
    yield "kube_pod_created", labels_of_pod, [(pod.creation, pod.deletion, pod.creation)]
    if pod.creation < binding:
        yield "kube_pod_status_unschedulable", labels_of_pod, [(pod.creation, binding, 1.0)]
    yield from build_phase_series(pod, labels_of_pod)
    if pod.binding < NO_TIME:
        yield "kube_pod_status_scheduled_time", labels_of_pod, [(pod.binding, pod.deletion, pod.binding)]
        yield "kube_pod_start_time", labels_of_pod, [(pod.binding, pod.deletion, pod.binding)]
    if pod.end < pod.deletion:
        yield "kube_pod_completion_time", labels_of_pod, [(pod.end, pod.deletion, pod.end)]
    if pod.start < min(end, pod.end):
        counts = Steps(
            [
                (pod.start, pod.deletion, 0.0),
                *((restart, pod.deletion, 1.0) for _, restart in draw_restarts(seed, pod, end)),
            ]
        )
        total = "kube_pod_container_status_restarts_total"
        yield total, {**labels_of_pod, "container": "main"}, list(counts.list_pieces(pod.start, min(pod.deletion, end)))


def build_phase_series(pod: Pod, labels: dict[str, str]) -> Iterator[Series]:
    running, end = min(pod.start, pod.end, pod.deletion), min(pod.end, pod.deletion)
    spans = {"Pending": (pod.creation, running), "Running": (running, end), pod.phase: (end, pod.deletion)}
    for phase in PHASES:
        begin, last = spans.get(phase, (pod.deletion, pod.deletion))
        pieces = [(pod.creation, begin, 0.0), (begin, last, 1.0), (last, pod.deletion, 0.0)]
        yield "kube_pod_status_phase", {**labels, "phase": phase}, [piece for piece in pieces if piece[0] < piece[1]]


def build_node_series(node: Node, end: float) -> Iterator[Series]:
    labels_of_node, pool = {"node": node.name}, node.pool
    uptime: Pieces = [(begin, last, 1.0) for begin, last in node.up_spans]
    resource = {**labels_of_node, "resource": pool.resource, "unit": "integer"}
    counts = {
        "capacity": Steps(list_capacity([node])),
        "allocatable": Steps([*list_capacity([node]), *subtract_broken([node])]),
    }
    cordon_steps = Steps(
        [(begin, last, 0.0) for begin, last in node.up_spans] + [(*span, 1.0) for span in node.cordoned_spans]
    )
    sharing = {"time-slicing": "time-slicing"}.get(pool.sharing, "none")
    for name, steps in counts.items():
        metric = f"kube_node_status_{name}"
        pieces = [piece for begin, last in node.up_spans for piece in steps.list_pieces(begin, min(last, end))]
        yield metric, resource, pieces
        yield (
            metric,
            {**labels_of_node, "resource": "cpu", "unit": "core"},
            [(begin, last, 128.0) for begin, last, _ in uptime],
        )
    unschedulable = [
        piece for begin, last in node.up_spans for piece in cordon_steps.list_pieces(begin, min(last, end))
    ]
    yield "kube_node_spec_unschedulable", labels_of_node, unschedulable
    for status in ("true", "false", "unknown"):
        ready = {**labels_of_node, "condition": "Ready", "status": status}
        yield "kube_node_status_condition", ready, [(begin, last, float(status == "true")) for begin, last, _ in uptime]
    labels = {
        "label_nvidia_com_gpu_present": "true",
        "label_nvidia_com_gpu_product": pool.product,
        "label_nvidia_com_gpu_sharing_strategy": sharing,
        "label_nvidia_com_gpu_replicas": "4" if sharing != "none" else "1",
    }
    yield "kube_node_labels", {**labels_of_node, **labels}, uptime
    yield "kube_node_created", labels_of_node, [(begin, last, begin) for begin, last, _ in uptime]


def build_namespace_series(teams: Sequence[Team], start: float, end: float) -> Iterator[Series]:
    for team in teams:
        for namespace in team.namespaces:
            for name, begin, last in ((team.name, start, team.renamed), (team.later, team.renamed, end)):
                if begin < min(last, end):
                    yield "kube_namespace_labels", {"namespace": namespace, "label_team": name}, [(begin, last, 1.0)]


def build_exporter_pods(node: Node, target: Target) -> Iterator[Series]:
    """kube_pod_info of the exporter's pods: what joins `up` with a node."""
    for begin, last, labels in target.generations:
        labels_of_pod = {
            "namespace": labels["namespace"],
            "pod": labels["pod"],
            "uid": f"uid-{labels['pod']}",
            "node": node.name,
        }
        created_by = {"created_by_kind": "DaemonSet", "created_by_name": "nvidia-dcgm-exporter"}
        yield "kube_pod_info", {**labels_of_pod, **created_by, "host_network": "false"}, [(begin, last, 1.0)]
