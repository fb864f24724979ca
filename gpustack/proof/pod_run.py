"""Pods on GPUs for a limited time: one for each GPU, followed until it has its GPU or has ended, and removed in any
case. They end by themselves at their deadline, even if gpustack is killed; a later run removes those that remain.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Command
from gpustack.errors import GpustackError, RolloutError
from gpustack.events import Event, Reporter, format_count
from gpustack.proof.pod import LOG, ApiRefused
from gpustack.proof.workload import UNSCHEDULABLE, PodResult, judge_pod

START_LIMIT, PLACE_LIMIT = 180.0, 20.0
"""Seconds for a pod to start, which may pull its image, and for an unschedulable pod to find a node: it may wait for
the GPU of an earlier run."""
ACTIVE = ("waiting", "running")
NOT_HELD = "Its GPUs could not be kept for the test"


class Cluster(Protocol):
    """Declare the methods of `Pods` in gpustack/proof/pod.py. Every method raises ApiRefused but the reads of logs and
    warnings."""

    def open(self) -> int: ...
    def create(self, manifest: Mapping[str, Any]) -> None: ...
    def list_pods(self, run: str = "") -> list[dict[str, Any]]: ...
    def read_log(self, pod: str, container: str, max_bytes: int = LOG) -> str | None: ...
    def find_warning(self, pod: str) -> str: ...
    def mark_node(self, node: str, name: str, text: str, manager: str) -> None: ...
    def record_proof(self, node: str, namespace: str, moment: datetime, author: str, manager: str) -> None: ...
    def open_gate(self, node: str, manager: str) -> str: ...
    def delete(self, pod: Mapping[str, Any]) -> None: ...
    def remove(self, run: str) -> bool: ...


Judge = Callable[[Cluster, PodResult], PodResult]
"""`judge(cluster, pod)` adds the output of a pod that runs or has ended, and its stage where it now holds its GPU."""


@dataclass
class PodRun:
    """Run pods on GPUs. `connect` opens a new connection to the API each time, because a run may outlive a certificate.
    `part` is the subject of events; `start_limit` and `pause`, the time between two looks at the pods, are in seconds.
    `opened` is whether pods may exist, `removed_pods` the number of pods of earlier runs that were removed,
    `look_error` why the last look failed, and `remaining` why pods remain after the run."""

    connect: Callable[[], AbstractContextManager[Cluster]]
    report: Reporter
    find_stop_reason: Callable[[], str] = lambda: ""
    part: str = ""
    start_limit: float = START_LIMIT
    pause: float = 1.0
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    id: str = field(default_factory=lambda: secrets.token_hex(4))
    pods: dict[str, PodResult] = field(default_factory=dict)
    opened: bool = False
    removed_pods: int = 0
    look_error: str = ""
    remaining: str = ""

    def create(
        self,
        prefix: str,
        gpu_counts: Mapping[str, int],
        build: Callable[[str, str, str], Mapping[str, Any]],
        *,
        partial: bool = False,
    ) -> None:
        """Create a pod for each GPU; `build` takes its name, its node and the id of the run. With `partial`, a pod that
        the API refuses is stuck, and the others are created. Raise ApiRefused, HostRefused, and RolloutError where the
        namespace was not created by gpustack."""
        nodes = [node for node, gpus in gpu_counts.items() for _ in range(gpus)]
        names = [f"{prefix}-{self.id}-{number}" for number in range(len(nodes))]
        self.pods = {name: PodResult(name, node) for name, node in zip(names, nodes, strict=True)}
        counts = f"{format_count(len(nodes), 'pod')} on {format_count(len(gpu_counts), 'node')}"
        self.report(Event("step", self.part, counts))
        with self.connect() as cluster:
            self.removed_pods, self.opened = cluster.open(), True
            if self.removed_pods:
                self.report(Event("note", self.part, f"{self.removed_pods} pods of an earlier run were removed"))
            for name, pod in self.pods.items():
                if stop := self.find_stop_reason():
                    self.give_up(stop)
                    break
                try:
                    cluster.create(build(name, pod.node, self.id))
                except ApiRefused as error:
                    if not partial:
                        raise
                    self.pods[name] = replace(pod, stage="stuck", reason=str(error))

    def give_up(self, reason: str) -> None:
        """Give up the pods that wait, for this reason."""
        for name, pod in self.pods.items():
            if pod.stage == "waiting":
                self.pods[name] = replace(pod, stage="stuck", reason=reason)

    def follow(self, judge: Judge, seconds: float = 0.0, watch: Callable[[], str] = lambda: "") -> str:
        """Follow the pods until none waits or runs, for `seconds` beyond the limit of their start. Return the reason of
        an early stop, or an empty text. `watch` is called after each look at the pods and returns a reason to stop."""
        started_at, limit = self.clock(), self.start_limit + seconds
        with ExitStack() as connection:
            cluster: Cluster | None = None
            while self.count_active():
                try:
                    cluster = cluster or connection.enter_context(self.connect())
                    self.update(cluster, judge, self.clock() - started_at)
                except (ApiRefused, GpustackError) as error:
                    connection.close()
                    cluster, earlier_error, self.look_error = None, self.look_error, str(error)
                    if self.look_error != earlier_error:
                        self.report(Event("note", self.part, f"the pods could not be looked at: {error}"))
                is_late = self.count_active() and self.clock() - started_at > limit
                late = (self.look_error or f"it did not end within {limit:.0f} s") if is_late else ""
                if stop := self.find_stop_reason() or watch() or late:
                    self.give_up(stop)
                    return stop
                if self.count_active():
                    self.wait(self.pause)
        return self.find_stop_reason()

    def count_active(self) -> int:
        return sum(pod.stage in ACTIVE for pod in self.pods.values())

    def update(self, cluster: Cluster, judge: Judge, age: float) -> None:
        documents = {document["metadata"]["name"]: document for document in cluster.list_pods(self.id)}
        for name, pod in self.pods.items():
            if pod.stage in ACTIVE:
                self.pods[name] = self.look_at(pod, documents.get(name), cluster, judge, age)
        self.look_error = ""
        progress = f"{len(self.pods) - self.count_active()} of {format_count(len(self.pods), 'pod')} ended"
        self.report(Event("waiting", self.part, progress, age))

    def look_at(
        self, pod: PodResult, document: Mapping[str, Any] | None, cluster: Cluster, judge: Judge, age: float
    ) -> PodResult:
        if document is None:
            return replace(pod, stage="stuck", reason="somebody removed it")
        pod = judge_pod(pod, document)
        if pod.stage in ("running", "ended"):
            return judge(cluster, pod)
        limit = PLACE_LIMIT if pod.reason.startswith(UNSCHEDULABLE) else self.start_limit
        if pod.stage == "stuck" or age <= limit:
            return pod
        reason = pod.reason or cluster.find_warning(pod.name) or f"it did not start within {age:.0f} s"
        return replace(pod, stage="stuck", reason=reason)

    def remove(self) -> str:
        """Remove the pods, and return the reason why some remain, or an empty text."""
        try:
            if self.opened:
                with self.connect() as cluster:
                    self.remaining = "" if cluster.remove(self.id) else "they are still there"
        except (ApiRefused, GpustackError) as error:
            self.remaining = str(error)
        return self.remaining


@contextmanager
def require_pods() -> Iterator[None]:
    """Raise RolloutError where the API or its host refuses the pods."""
    try:
        yield
    except (ApiRefused, HostRefused) as error:
        message, hint = f"{NOT_HELD}; nothing was tested.", Command("gpustack", "verify")
        raise RolloutError("gpu-not-held", message, str(error), hint) from error
