"""One load on GPUs: pods and metrics together, from the first pod until the last value of it is there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic, sleep

from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.cli.gpu.diag import silence_load
from gpustack.cli.locked_run import Run
from gpustack.errors import RolloutError
from gpustack.events import Event
from gpustack.gpus.burn.judge import LoadedPod
from gpustack.gpus.burn.loads import Load
from gpustack.gpus.burn.watch import LAG, Watcher
from gpustack.gpus.engines.call import Reply
from gpustack.gpus.engines.engine import Engine
from gpustack.probes.gpu.engine_pods import image
from gpustack.proof.connect import open_pods
from gpustack.proof.load import BESIDE, LOOK, START, Loader, LoadPod

SETTLE = 2 * LAG
"""Seconds, at most, until Prometheus has scraped each GPU after its load."""


@dataclass
class Task:
    """`wanted` are UUIDs, or none for all. `stopped` says why it ended early, `left` what could not be removed,
    `refused` why nothing could be made."""

    taken: Snapshot
    load: Load
    seconds: int
    wanted: Sequence[str]
    watcher: Watcher | None
    loader: Loader | None = None
    nodes: dict[str, int] = field(default_factory=dict)
    stopped: str = ""
    refused: RolloutError | None = None

    @property
    def image(self) -> str:
        return image(View(self.taken, CLUSTER).versions.components["dcgm"])

    @property
    def command(self) -> str:
        return f"{self.image}: dcgmproftester {' '.join(self.load.words(self.seconds))}"

    @property
    def life(self) -> float:
        """Seconds that all of it may take."""
        return START + self.seconds + BESIDE + SETTLE

    @property
    def left(self) -> str:
        return self.loader.left if self.loader else ""

    def act(self, run: Run, engines: Sequence[Engine]) -> list[Reply]:
        """A reply for each node, with what its pods printed."""
        self.nodes = {one.node: one.free for one in engines}
        words = self.load.words(self.seconds)
        self.loader = loader = Loader(
            lambda: open_pods(self.taken, run.private),
            run.record, self.image, words, self.seconds, self.wanted, run.stop_reason,
        )  # fmt: skip
        with silence_load(run, list(self.nodes), self.life):
            try:
                self.stopped = loader.load(self.nodes, self.watch)
            except RolloutError as error:
                self.refused = error
            else:
                self.settle(run)
        return [self.reply(node) for node in self.nodes]

    def watch(self, pods: Sequence[LoadPod]) -> str:
        if self.watcher is None:
            return ""
        by_stage = {stage: [uuid_of(one) for one in pods if one.stage == stage and one.gpus] for stage in STAGES}
        return self.watcher.look(by_stage["running"], by_stage["ended"], monotonic())

    def settle(self, run: Run) -> None:
        """A value under load arrives after it."""
        end = monotonic() + SETTLE
        while self.watcher and not self.stopped and not self.watcher.is_complete() and monotonic() < end:
            if run.stop_reason():
                return
            run.record(Event("waiting", "", "the last values are scraped"))
            sleep(LOOK)
            self.watch(tuple(self.loader.pods.values()) if self.loader else ())

    def pods(self) -> list[LoadedPod]:
        """Of each GPU that was to be loaded."""
        found = [one for one in (self.loader.pods.values() if self.loader else ()) if one.stage != "held"]
        if not self.wanted:
            return list(map(loaded, found))
        of = {uuid_of(one): one for one in found if one.gpus}
        why = "no pod got it: it is in use, or not offered"
        return [loaded(of[uuid]) if uuid in of else LoadedPod("", uuid, why=why) for uuid in self.wanted]

    def reply(self, node: str) -> Reply:
        pods: Iterable[LoadPod] = self.loader.pods.values() if self.loader else ()
        output = "\n".join(f"{one.name}: {one.why}\n{one.output}" for one in pods if one.node == node)
        if self.refused:
            return Reply(node, self.command, 1, output, str(self.refused.why))
        return Reply(node, self.command, 0, output, lost=self.left)


STAGES = ("running", "ended")


def uuid_of(pod: LoadPod) -> str:
    return pod.gpus[0].uuid


def loaded(pod: LoadPod) -> LoadedPod:
    (gpu,) = pod.gpus[:1] or (None,)
    who = (gpu.uuid, gpu.model, gpu.bus) if gpu else ("", "", "")
    return LoadedPod(pod.node, *who, pod.code, pod.output, pod.why)
