"""Probes of containers that fail, in the kubelet's words: it ends a container whose liveness probe fails, which leaves
an exit code alone.

Events: kubernetes/kubernetes pkg/kubelet/prober/prober.go. The field of the container is `spec.containers{NAME}`
(pkg/kubelet/container/ref.go).
"""

from collections.abc import Mapping

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects


def parse_probe_failures(answer: Answer) -> Mapping[str, str]:
    """Parse the last message about each container, by `NAMESPACE/POD, container NAME`."""
    last_messages: dict[str, tuple[str, str]] = {}
    for entry in list_objects(answer):
        place = entry["involvedObject"]
        container = str(place.get("fieldPath", "")).partition("{")[2].removesuffix("}")
        key = f"{place['namespace']}/{place['name']}, container {container}"
        timestamp = str(entry.get("lastTimestamp") or "")
        last_messages[key] = max(last_messages.get(key, ("", "")), (timestamp, str(entry["message"])))
    return {key: shorten_message(message) for key, (_, message) in last_messages.items()}


PROBE_FAILURES = Probe(
    "pods.probe-failures",
    Api(
        "/api/v1/events?fieldSelector=reason%3DUnhealthy%2Ctype%3DWarning&limit=2000",
        (
            "involvedObject.namespace", "involvedObject.name", "involvedObject.fieldPath", "lastTimestamp", "message",
        ),
    ),
    parse_probe_failures,
)  # fmt: skip
