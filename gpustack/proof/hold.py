"""Pods that hold the GPUs of nodes during a test, so that no other pod gets one.

They are in the namespace of the proof, and end by themselves at their deadline. The next proof or test removes those
that remain.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter, format_count
from gpustack.proof.pod import ApiRefused
from gpustack.proof.workload import HELD, NODE, build_container, build_pod, explain_wait, list_states

LIMIT = 180.0
"""Seconds until all pods have their GPU. A node may have to pull the image."""
AGAIN = 1.0
NOT_HELD = "Its GPUs could not be kept for the test"


class Cluster(Protocol):
    """Declare the methods of `Pods` in gpustack/proof/pod.py. Every method raises ApiRefused."""

    def open(self) -> int: ...
    def create(self, manifest: Mapping[str, Any]) -> None: ...
    def list_pods(self, run: str = "") -> list[dict[str, Any]]: ...
    def delete(self, pod: Mapping[str, Any]) -> None: ...
    def remove(self, run: str) -> bool: ...


@dataclass(frozen=True)
class Holder:
    """Hold GPUs for `seconds`, the lifetime of the pods. `connect` opens a new connection to the API each time, because
    a test outlives a certificate."""

    connect: Callable[[], Any]
    report: Reporter
    seconds: float
    find_stop_reason: Callable[[], str] = lambda: ""
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    run: str = field(default_factory=lambda: secrets.token_hex(4))

    @contextmanager
    def hold(self, gpu_counts: Mapping[str, int]) -> Iterator[Mapping[str, str]]:
        """Hold this number of GPUs by node. Yield the reasons of nodes where that failed, whose pods are removed at
        once. Raise RolloutError where no pod can be created, and where the namespace was not created by gpustack."""
        try:
            with self.connect() as cluster:
                refusals = self.start(cluster, gpu_counts)
        except ApiRefused as error:
            self.clean()
            raise RolloutError(
                "gpu-not-held", f"{NOT_HELD}; nothing was changed.", str(error), Command("gpustack", "verify")
            ) from None
        except BaseException:
            self.clean()
            raise
        try:
            yield refusals
        finally:
            self.clean()

    def start(self, cluster: Cluster, gpu_counts: Mapping[str, int]) -> Mapping[str, str]:
        cluster.open()
        pod_nodes = [node for node, gpus in gpu_counts.items() for _ in range(gpus)]
        self.report(
            Event("step", "", f"{format_count(len(pod_nodes), 'pod')} keep the GPUs of {', '.join(gpu_counts)}")
        )
        for number, node in enumerate(pod_nodes):
            cluster.create(build_hold_pod(f"hold-{self.run}-{number}", node, self.run, self.seconds))
        end = self.clock() + LIMIT
        while True:
            pods = cluster.list_pods(self.run)
            waiting = {
                pod["metadata"]["annotations"][NODE]: pending_reason
                for pod in pods
                if (pending_reason := explain_pending(pod))
            }
            if not waiting or self.clock() > end or self.find_stop_reason():
                break
            self.wait(AGAIN)
        for pod in pods:
            if pod["metadata"]["annotations"][NODE] in waiting:
                cluster.delete(pod)
        return {node: f"{NOT_HELD}: {reason}" for node, reason in waiting.items()}

    def clean(self) -> None:
        """Remove the pods. Pods that remain are noted, and end by themselves."""
        if reason := remove_pods(self.connect, self.run):
            self.report(Event("note", "", f"pods that keep GPUs were not removed, and end by themselves: {reason}"))


def remove_pods(connect: Callable[[], Any], run: str) -> str:
    """Remove the pods of a run, and return the reason why pods remain, or an empty text."""
    try:
        with connect() as cluster:
            return "" if cluster.remove(run) else "they are still there"
    except (ApiRefused, HostRefused, RolloutError) as error:
        return str(error)


def build_hold_pod(name: str, node: str, run: str, seconds: float) -> dict[str, Any]:
    """Build a pod that requests one GPU and sleeps."""
    manifest = build_pod(name, node, run, seconds)
    del manifest["spec"]["initContainers"]
    manifest["spec"]["containers"] = [build_container(HELD, "sleep", str(manifest["spec"]["activeDeadlineSeconds"]))]
    return manifest


def explain_pending(pod: Mapping[str, Any]) -> str:
    """Return the reason why a pod is not running yet, or an empty text."""
    status = pod.get("status", {})
    states = dict(list_states(status))
    if "running" in states.get(HELD, {}):
        return ""
    return explain_wait(status, states)[1] or status.get("message", "") or status.get("phase", "Pending")
