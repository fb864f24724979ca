"""A load on GPUs, from the first pod until its last sample is scraped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic, sleep

from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.burn.judge import Burn, judge_gpus
from gpustack.burn.loads import Load
from gpustack.burn.tester import PAUSE, LoadTester
from gpustack.burn.watch import LAG, Watcher
from gpustack.engines.call import Reply
from gpustack.engines.change import ChangeResult, Operation
from gpustack.engines.engine import Engine, Engines, compare_offers
from gpustack.engines.operations import load_gpus
from gpustack.errors import RolloutError
from gpustack.events import Event
from gpustack.probes.gpu.engine_pods import format_image
from gpustack.proof.connect import open_pods
from gpustack.proof.pod_run import PodRun
from gpustack.proof.silence import silence_alerts
from gpustack.proof.workload import PodResult, VisibleGpu
from gpustack.rollout.run import Run

SETTLE = 2 * LAG
"""The longest time in seconds until Prometheus has scraped each GPU after its load."""


@dataclass
class Task:
    """Hold a load and its state. `uuids` select GPUs, and are empty for all; without a `watcher` temperatures need not
    be known. `stop_reason` is why the load ended early, and `error` why no pod could be created."""

    snapshot: Snapshot
    load: Load
    seconds: int
    uuids: Sequence[str]
    watcher: Watcher | None
    pod_run: PodRun | None = None
    stop_reason: str = ""
    error: RolloutError | None = None
    tester: LoadTester = field(init=False)

    def __post_init__(self) -> None:
        image = format_image(View(self.snapshot, CLUSTER).versions.components["dcgm"])
        self.tester = LoadTester(image, self.load.build_options(self.seconds), self.seconds, self.uuids)

    @property
    def blind(self) -> bool:
        return self.watcher is None or self.watcher.blind

    @property
    def command(self) -> str:
        return f"{self.tester.image}: dcgmproftester {' '.join(self.tester.words)}"

    @property
    def life(self) -> float:
        """Return the longest time in seconds that the load may take."""
        return self.tester.life + SETTLE

    @property
    def operation(self) -> Operation:
        return load_gpus(f"{self.load.field.name} for {self.seconds} s", self.command, self.life, blind=self.blind)

    @property
    def pods(self) -> Sequence[PodResult]:
        return tuple(self.pod_run.pods.values()) if self.pod_run else ()

    def run(self, run: Run, engines: Sequence[Engine]) -> list[Reply]:
        """Run the load, and return a reply for each node with the output of its pods."""
        gpu_counts = {engine.node: engine.free for engine in engines}
        connect = lambda: open_pods(self.snapshot, run.private)  # noqa: E731
        self.pod_run = PodRun(connect, run.record, run.find_stop_reason, pause=PAUSE, wait=sleep, clock=monotonic)
        with silence_alerts(run, list(gpu_counts), self.life, "load"):
            try:
                self.stop_reason = self.tester.load_gpus(self.pod_run, gpu_counts, self.watch)
            except RolloutError as error:
                self.error = error
            else:
                self.settle(run)
        return [self.reply(node) for node in gpu_counts]

    def watch(self) -> str:
        """Observe the GPUs under load, and return the reason to stop it, or an empty text."""
        if self.watcher is None:
            return ""
        running_uuids, ended_uuids = (
            [pod.gpus[0].uuid for pod in self.pods if pod.stage == stage and pod.gpus] for stage in ("running", "ended")
        )
        return self.watcher.observe_gpus(running_uuids, ended_uuids, monotonic())

    def settle(self, run: Run) -> None:
        """Wait until the last values under load are scraped, which happens after the load."""
        end = monotonic() + SETTLE
        while self.watcher and not self.stop_reason and not self.watcher.is_complete() and monotonic() < end:
            if run.find_stop_reason():
                return
            run.record(Event("waiting", "", "the last values are scraped"))
            sleep(PAUSE)
            self.watch()

    def reply(self, node: str) -> Reply:
        output = "\n".join(f"{pod.name}: {pod.reason}\n{pod.output}" for pod in self.pods if pod.node == node)
        if self.error:
            return Reply(node, self.command, 1, output, str(self.error.reason))
        return Reply(node, self.command, 0, output, missing_reason=self.pod_run.remaining if self.pod_run else "")

    def list_pods(self) -> list[PodResult]:
        """List the pods of the GPUs that were to be loaded. A GPU that no pod got has a reason instead."""
        pods = [pod for pod in self.pods if pod.stage != "held"]
        if not self.uuids:
            return pods
        reason = "no pod got it: it is in use, or not offered"
        pods_by_uuid = {uuid: PodResult("", "", "stuck", reason, gpus=(VisibleGpu(uuid),)) for uuid in self.uuids}
        pods_by_uuid |= {pod.gpus[0].uuid: pod for pod in pods if pod.gpus and pod.gpus[0].uuid in self.uuids}
        return list(pods_by_uuid.values())

    def judge(self, change: ChangeResult, engines: Engines, offers: Mapping[str, int]) -> Burn:
        """Judge the load; `offers` are the GPUs that nodes offer after it. Raise RolloutError where there was none."""
        if self.error:
            raise self.error
        observations = self.watcher.gpus if self.watcher else {}
        gpus = judge_gpus(self.load, self.list_pods(), observations, self.stop_reason, blind=self.blind)
        lost_gpus, unread = compare_offers(engines, offers)
        unread = {**engines.unread, **unread}
        remaining = self.pod_run.remaining if self.pod_run else ""
        return Burn(self.load, self.seconds, gpus, unread, lost_gpus, change.seconds, self.stop_reason, remaining)
