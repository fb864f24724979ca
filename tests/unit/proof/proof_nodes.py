"""The cluster of a proof: pods that get the GPUs of their node, and what is recorded of nodes."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from gpustack.probes.proof import RUN
from gpustack.proof.pod import LOG
from gpustack.proof.workload import HOLD, KERNEL, NODE, UUID_QUERY
from tests.unit.proof.proof_inputs import GPUS, MODEL, Clock

DONE_STATE = {"terminated": {"exitCode": 0}}
HOLDS = {
    "phase": "Running",
    "initContainerStatuses": [{"name": KERNEL, "state": DONE_STATE}, {"name": UUID_QUERY, "state": DONE_STATE}],
    "containerStatuses": [{"name": HOLD, "state": {"running": {}}}],
}


class Nodes:
    """Pods get the GPUs of their node one after the other, and hold them. `after` is when they run, in seconds."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.pods: dict[str, dict[str, Any]] = {}
        self.after = 2.0
        self.statuses: dict[str, Mapping[str, Any]] = {}
        self.remaining, self.removals, self.max_count = 0, 0, 0
        self.records, self.gates = dict[str, str](), dict[str, str]()
        self.proven_at = dict[str, datetime]()
        self.refuse: Callable[[str], None] = lambda verb: None

    def open(self) -> int:
        self.refuse("open")
        return self.remaining

    def create(self, manifest: Mapping[str, Any]) -> None:
        self.refuse("create")
        name, node = manifest["metadata"]["name"], manifest["metadata"]["annotations"][NODE]
        mine = [pod for pod in self.pods.values() if pod["metadata"]["annotations"][NODE] == node]
        free = [gpu for gpu in GPUS if gpu[1] == node]
        self.pods[name] = {**manifest, "gpu": free[len(mine)], "status": {"phase": "Pending"}}
        self.max_count = max(self.max_count, len(self.pods))

    def list_pods(self, run: str = "") -> list[dict[str, Any]]:
        self.refuse("all")
        assert all(pod["metadata"]["labels"][RUN] == run for pod in self.pods.values())
        ready = HOLDS if self.clock.seconds >= self.after else {"phase": "Pending"}
        return [{**pod, "status": self.statuses.get(name, ready)} for name, pod in self.pods.items()]

    def read_log(self, pod: str, container: str, max_bytes: int = LOG) -> str | None:
        uuid, _, bus = self.pods[pod]["gpu"]
        return "Test PASSED\n" if container == KERNEL else f"{uuid}, 0000{bus}, {MODEL}\n"

    def find_warning(self, pod: str) -> str:
        return "FailedScheduling: nowhere"

    def mark_node(self, node: str, name: str, text: str, manager: str) -> None:
        assert (name, manager) == ("gpustack.io/proven-gpus", "gpustack-proof")
        self.refuse("mark")
        self.records[node] = text

    def record_proof(self, node: str, namespace: str, moment: datetime, author: str, manager: str) -> None:
        assert (namespace, author, manager) == ("gpu-operator", "anna@desk", "gpustack-proof")
        self.refuse("lease")
        self.proven_at[node] = moment

    def open_gate(self, node: str, manager: str) -> str:
        self.refuse("gate")
        return "reset" if self.gates.pop(node) == "reset" else ""

    def delete(self, pod: Mapping[str, Any]) -> None:
        raise AssertionError

    def remove(self, run: str) -> bool:
        assert all(pod["metadata"]["labels"][RUN] == run for pod in self.pods.values())
        self.removals += 1
        self.refuse("remove")
        self.pods.clear()
        return True
