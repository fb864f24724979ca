"""An API for runs of pods on GPUs: each pod gets the next GPU, and time passes when somebody waits."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpustack.events import Event
from gpustack.proof.pod import LOG, ApiRefused
from gpustack.proof.pod_run import PodRun

GPUS = tuple(f"GPU-0000000{number}-0000-0000-0000-000000000000" for number in range(3))
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}
NO_ROOM = {"phase": "Pending", "conditions": [UNSCHEDULABLE]}


def build_status(**state: Any) -> dict[str, Any]:
    return {"phase": "Running", "containerStatuses": [{"name": "load", "state": state}]}


@dataclass
class PodApi:
    """Simulate an API whose pods run at once and end after `seconds` with `code`, or have the status in `statuses` by
    their number. `refuses` is what it says to open, create, list and remove."""

    seconds: float = 60.0
    code: int = 0
    time: float = 0.0
    pods: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    statuses: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    refuses: Callable[[str], str] = lambda verb: ""
    events: list[Event] = field(default_factory=list)
    warning: str = ""
    connections: int = 0
    removals: int = 0

    @contextmanager
    def connect(self) -> Iterator["PodApi"]:
        self.connections += 1
        yield self

    def check(self, verb: str) -> None:
        if refusal := self.refuses(verb):
            raise ApiRefused(refusal)

    def open(self) -> int:
        self.check("open")
        return 0

    def create(self, manifest: Mapping[str, Any]) -> None:
        self.check("create")
        self.pods[manifest["metadata"]["name"]] = manifest

    def list_pods(self, run: str = "") -> list[dict[str, Any]]:
        self.check("list")
        end_state = {"terminated": {"exitCode": self.code, "reason": "Completed"}}
        usual = build_status(**end_state) if self.time >= self.seconds else build_status(running={})
        return [{**pod, "status": self.statuses.get(number, usual)} for number, pod in enumerate(self.pods.values())]

    def read_log(self, pod: str, container: str, max_bytes: int = LOG) -> str | None:
        number = list(self.pods).index(pod)
        return f"{GPUS[number]}, 00000000:{number}5:00.0, NVIDIA L4\nGPU 0, TestField 1004 test PASSED.\n"

    def find_warning(self, pod: str) -> str:
        return self.warning

    def mark_node(self, node: str, name: str, text: str, manager: str) -> None:
        raise AssertionError

    def record_proof(self, node: str, namespace: str, moment: datetime, author: str, manager: str) -> None:
        raise AssertionError

    def open_gate(self, node: str, manager: str) -> str:
        raise AssertionError

    def delete(self, pod: Mapping[str, Any]) -> None:
        del self.pods[pod["metadata"]["name"]]

    def remove(self, run: str) -> bool:
        assert run == "r1"
        self.check("remove")
        self.removals += 1
        return True

    def wait(self, seconds: float) -> None:
        self.time += seconds


def make_run(api: PodApi, **differs: Any) -> PodRun:
    clock = lambda: api.time  # noqa: E731
    return PodRun(api.connect, api.events.append, wait=api.wait, clock=clock, pause=5, id="r1", **differs)
