"""Keeps the GPUs of nodes for a test: pods ask for all of them, so that no other pod gets one meanwhile. They are in
the namespace of the proof, with its manners: they end by themselves at their deadline, and what is left of them is
removed by the next proof or test.
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
from gpustack.events import Event, Reporter, count
from gpustack.proof.pod import ApiRefused
from gpustack.proof.workload import HELD, NODE, container_manifest, container_states, explain_wait, pod_manifest

LIMIT = 180.0
"""Seconds until all have their GPU; a node may have to pull their image."""
AGAIN = 1.0
NOT_HELD = "Its GPUs could not be kept for the test"


class Cluster(Protocol):
    """gpustack/proof/pod.py, or what a test has in its place. All raise ApiRefused."""

    def open(self) -> int: ...
    def create(self, manifest: Mapping[str, Any]) -> None: ...
    def all(self, run: str = "") -> list[dict[str, Any]]: ...
    def delete(self, pod: Mapping[str, Any]) -> None: ...
    def remove(self, run: str) -> bool: ...


@dataclass(frozen=True)
class Holder:
    """`connect` leads to the API anew each time: a test outlives a certificate. `seconds` is the life of the pods."""

    connect: Callable[[], Any]
    report: Reporter
    seconds: float
    cancelled: Callable[[], str] = lambda: ""
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    run: str = field(default_factory=lambda: secrets.token_hex(4))

    @contextmanager
    def hold(self, wanted: Mapping[str, int]) -> Iterator[Mapping[str, str]]:
        """GPUs by node. Yields why not, by node; the pods of such a node are removed at once. Raises RolloutError where
        nothing can be held, or the namespace is not ours."""
        try:
            with self.connect() as cluster:
                refused = self.start(cluster, wanted)
        except ApiRefused as error:
            self.clean()
            raise RolloutError(
                "gpu-not-held", f"{NOT_HELD}; nothing was changed.", str(error), Command("gpustack", "verify")
            ) from None
        except BaseException:
            self.clean()
            raise
        try:
            yield refused
        finally:
            self.clean()

    def start(self, cluster: Cluster, wanted: Mapping[str, int]) -> Mapping[str, str]:
        cluster.open()
        pods = [node for node, gpus in wanted.items() for _ in range(gpus)]
        self.report(Event("step", "", f"{count(len(pods), 'pod')} keep the GPUs of {', '.join(wanted)}"))
        for number, node in enumerate(pods):
            cluster.create(hold_manifest(f"hold-{self.run}-{number}", node, self.run, self.seconds))
        end = self.clock() + LIMIT
        while True:
            found = cluster.all(self.run)
            waiting = {pod["metadata"]["annotations"][NODE]: why for pod in found if (why := why_not(pod))}
            if not waiting or self.clock() > end or self.cancelled():
                break
            self.wait(AGAIN)
        for pod in found:
            if pod["metadata"]["annotations"][NODE] in waiting:
                cluster.delete(pod)
        return {node: f"{NOT_HELD}: {why}" for node, why in waiting.items()}

    def clean(self) -> None:
        """What stays ends by itself."""
        if why := remove_pods(self.connect, self.run):
            self.report(Event("note", "", f"pods that keep GPUs were not removed, and end by themselves: {why}"))


def remove_pods(connect: Callable[[], Any], run: str) -> str:
    """Remove the pods of a run, and return why they are not gone."""
    try:
        with connect() as cluster:
            return "" if cluster.remove(run) else "they are still there"
    except (ApiRefused, HostRefused, RolloutError) as error:
        return str(error)


def hold_manifest(name: str, node: str, run: str, seconds: float) -> dict[str, Any]:
    """A pod of one GPU that does nothing."""
    made = pod_manifest(name, node, run, seconds)
    del made["spec"]["initContainers"]
    made["spec"]["containers"] = [container_manifest(HELD, "sleep", str(made["spec"]["activeDeadlineSeconds"]))]
    return made


def why_not(pod: Mapping[str, Any]) -> str:
    """Why it does not run yet; empty when it does."""
    status = pod.get("status", {})
    states = dict(container_states(status))
    if "running" in states.get(HELD, {}):
        return ""
    return explain_wait(status, states)[1] or status.get("message", "") or status.get("phase", "Pending")
