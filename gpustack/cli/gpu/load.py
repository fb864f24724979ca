"""A load on GPUs, from the first pod until its last sample is scraped."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic, sleep

from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.cli.gpu.diag import silence_load
from gpustack.engines.call import Reply
from gpustack.engines.engine import Engine
from gpustack.errors import RolloutError
from gpustack.events import Event
from gpustack.gpus.burn.judge import LoadedPod
from gpustack.gpus.burn.loads import Load
from gpustack.gpus.burn.watch import LAG, Watcher
from gpustack.probes.gpu.engine_pods import format_image
from gpustack.proof.connect import open_pods
from gpustack.proof.load import LOOK, LoadTester
from gpustack.proof.pod_run import PodRun
from gpustack.proof.workload import PodResult
from gpustack.rollout.run import Run

SETTLE = 2 * LAG
"""The longest time in seconds until Prometheus has scraped each GPU after its load."""


@dataclass
class Task:
    """Hold a load and its state. `uuids` select GPUs, and are empty for all. `stop_reason` is why the load ended early,
    `cleanup_error` why pods could not be removed, and `error` why no pod could be created."""

    snapshot: Snapshot
    load: Load
    seconds: int
    uuids: Sequence[str]
    watcher: Watcher | None
    pod_run: PodRun | None = None
    nodes: dict[str, int] = field(default_factory=dict)
    stop_reason: str = ""
    error: RolloutError | None = None

    @property
    def image(self) -> str:
        return format_image(View(self.snapshot, CLUSTER).versions.components["dcgm"])

    @property
    def tester(self) -> LoadTester:
        return LoadTester(self.image, self.load.build_options(self.seconds), self.seconds, self.uuids)

    @property
    def command(self) -> str:
        return f"{self.image}: dcgmproftester {' '.join(self.load.build_options(self.seconds))}"

    @property
    def life(self) -> float:
        """Return the longest time in seconds that the load may take."""
        return self.tester.life + SETTLE

    @property
    def cleanup_error(self) -> str:
        return self.pod_run.remaining if self.pod_run else ""

    @property
    def pods(self) -> Sequence[PodResult]:
        return tuple(self.pod_run.pods.values()) if self.pod_run else ()

    def act(self, run: Run, engines: Sequence[Engine]) -> list[Reply]:
        """Run the load, and return a reply for each node with the output of its pods."""
        self.nodes = {engine.node: engine.free for engine in engines}
        connect = lambda: open_pods(self.snapshot, run.private)  # noqa: E731
        self.pod_run = PodRun(connect, run.record, run.find_stop_reason, pause=LOOK, wait=sleep, clock=monotonic)
        with silence_load(run, list(self.nodes), self.life):
            try:
                self.stop_reason = self.tester.load_gpus(self.pod_run, self.nodes, self.watch)
            except RolloutError as error:
                self.error = error
            else:
                self.settle(run)
        return [self.reply(node) for node in self.nodes]

    def watch(self) -> str:
        if self.watcher is None:
            return ""
        by_stage = {
            stage: [select_uuid(pod) for pod in self.pods if pod.stage == stage and pod.gpus] for stage in STAGES
        }
        return self.watcher.observe_gpus(by_stage["running"], by_stage["ended"], monotonic())

    def settle(self, run: Run) -> None:
        """Wait until the last values under load are scraped, which happens after the load."""
        end = monotonic() + SETTLE
        while self.watcher and not self.stop_reason and not self.watcher.is_complete() and monotonic() < end:
            if run.find_stop_reason():
                return
            run.record(Event("waiting", "", "the last values are scraped"))
            sleep(LOOK)
            self.watch()

    def list_pods(self) -> list[LoadedPod]:
        """List the pods of the GPUs that were to be loaded. A GPU that no pod got has a reason instead."""
        load_pods = [pod for pod in self.pods if pod.stage != "held"]
        if not self.uuids:
            return list(map(build_loaded_pod, load_pods))
        pods_by_uuid = {select_uuid(pod): pod for pod in load_pods if pod.gpus}
        reason = "no pod got it: it is in use, or not offered"
        return [
            build_loaded_pod(pods_by_uuid[uuid]) if uuid in pods_by_uuid else LoadedPod("", uuid, reason=reason)
            for uuid in self.uuids
        ]

    def reply(self, node: str) -> Reply:
        output = "\n".join(f"{pod.name}: {pod.reason}\n{pod.output}" for pod in self.pods if pod.node == node)
        if self.error:
            return Reply(node, self.command, 1, output, str(self.error.reason))
        return Reply(node, self.command, 0, output, missing_reason=self.cleanup_error)


STAGES = ("running", "ended")


def select_uuid(pod: PodResult) -> str:
    return pod.gpus[0].uuid


def build_loaded_pod(pod: PodResult) -> LoadedPod:
    (gpu,) = pod.gpus[:1] or (None,)
    identity = (gpu.uuid, gpu.model, gpu.bus) if gpu else ("", "", "")
    return LoadedPod(pod.node, *identity, pod.code, pod.output, pod.reason)
