"""Whose GPUs are looked at."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.files.json_text import dump_json
from gpustack.metrics.gpus import Gpu, owner_of


@dataclass(frozen=True)
class Selection:
    """Whose GPUs: of a pod, of a node, or one by its UUID. What is empty selects nothing away."""

    namespace: str = ""
    pod: str = ""
    node: str = ""
    uuid: str = ""

    def selects(self, gpu: Gpu, labels: Mapping[str, str]) -> bool:
        owner = owner_of(labels)
        if self.pod and (owner is None or (owner.namespace, owner.pod) != (self.namespace, self.pod)):
            return False
        return self.node in ("", gpu.node) and self.uuid in ("", gpu.uuid)

    def matchers(self) -> tuple[str, ...]:
        """Of PromQL, so that not every GPU's series are sent: one for each place where a pod's name may be."""
        if self.uuid:
            return (f",UUID={quoted(self.uuid)}", f",uuid={quoted(self.uuid)}")
        if not self.pod:
            return tuple(f",{label}={quoted(self.node)}" for label in ("hostname", "Hostname", "node"))
        names = (quoted(self.namespace), quoted(self.pod))
        return tuple(f",{prefix}namespace={names[0]},{prefix}pod={names[1]}" for prefix in ("exported_", ""))


def quoted(text: str) -> str:
    """PromQL escapes as JSON does."""
    return dump_json(text)
