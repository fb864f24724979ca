"""Answers of what was started when: an API server, an exporter's pod."""

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.probes.control_plane.control_plane import STATIC_PODS
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

Answers = dict[tuple[str, str], Answer]


def start_api_server(age: int) -> Answers:
    """Let the API server of k1 start so many seconds ago by its clock."""
    pods = read_case(STATIC_PODS.id, "control-plane")
    current_time, rest = pods.stdout.split("\n", 1)
    started_at = STATIC_PODS.extract_fact(pods)["kube-apiserver"].age
    return place_answers("k1", make_answer(STATIC_PODS.id, f"{int(current_time) - started_at + age}\n{rest}"))


def start_exporter(started_at: str) -> Answers:
    """Let the pod of k2 start, that is not ready yet."""
    moved_pod = ('"nodeName":"host2"', '"nodeName":"k2"')
    return place_answers(CLUSTER, read_case("gpu.pods", "starting", moved_pod, ("2026-11-22T21:02:18Z", started_at)))
