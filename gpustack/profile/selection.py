"""Selection of the GPUs of a profile."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.files.json_text import dump_json
from gpustack.metrics.gpus import Gpu, extract_owner
from gpustack.vocabulary.labels import HOSTS, UUIDS, WORKLOAD_PREFIX


@dataclass(frozen=True)
class Selection:
    """Select the GPUs of a pod, of a node, or one by its UUID. An empty field selects all."""

    namespace: str = ""
    pod: str = ""
    node: str = ""
    uuid: str = ""

    def matches_gpu(self, gpu: Gpu, labels: Mapping[str, str]) -> bool:
        owner = extract_owner(labels)
        if self.pod and (owner is None or (owner.namespace, owner.pod) != (self.namespace, self.pod)):
            return False
        return self.node in ("", gpu.node) and self.uuid in ("", gpu.uuid)

    def build_matchers(self) -> tuple[str, ...]:
        """Build matchers of PromQL, so that the server sends no series of other GPUs: one for each label that may hold
        a pod's name."""
        if self.uuid:
            return tuple(f",{label}={quote_promql(self.uuid)}" for label in UUIDS)
        if not self.pod:
            return tuple(f",{label}={quote_promql(self.node)}" for label in (*HOSTS, "node"))
        names = (quote_promql(self.namespace), quote_promql(self.pod))
        return tuple(f",{prefix}namespace={names[0]},{prefix}pod={names[1]}" for prefix in (WORKLOAD_PREFIX, ""))


def quote_promql(text: str) -> str:
    """Quote a text for PromQL, which escapes as JSON does."""
    return dump_json(text)
