"""Runs a proof: a pod for every free GPU, then the series, then the panel; and takes the pods away again, whatever
happened. What was asked is judged in proof/chain.py."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from gpustack.ask.snapshot import Snapshot
from gpustack.events import Event, Reporter, silent
from gpustack.proof.chain import Asked, Place, Row, Shown, judge
from gpustack.proof.grafana import Grafana, Refusal
from gpustack.proof.http import NoAnswer
from gpustack.proof.pod import ApiRefused
from gpustack.proof.prometheus import Prometheus, Series
from gpustack.proof.workload import ASKED, KERNEL, SPARE, PodResult, judge_pod, pod_manifest

Result = TypeVar("Result")
TIMEOUT = 180.0
LOOK = 0.5
# Seconds: between looks at series, beyond two scrapes, that a pod may find no place before it is believed, and until a
# panel is asked again (a scrape may arrive between two questions).
SERIES_LOOK, SERIES_SPARE, PLACE_LIMIT, PANEL_AGAIN, PANEL_TIMES = 1.0, 3.0, 20.0, 1.0, 3


class Cluster(Protocol):
    """What proof/pod.py does."""

    def open(self) -> int: ...
    def create(self, manifest: Mapping[str, Any]) -> None: ...
    def all(self, run: str = "") -> list[dict[str, Any]]: ...
    def log(self, pod: str, container: str) -> str | None: ...
    def warning(self, pod: str) -> str: ...
    def remove(self, run: str) -> bool: ...


@dataclass(frozen=True)
class Proof:
    """`rows` are GPUs. `unasked` names hosts that were not reached, or are no node, and why; `hosts` is how many were
    asked for NVIDIA devices. `parts` are seconds by what took them. `stopped` says why it ended early, `left` what
    could not be taken away."""

    taken: datetime
    rows: tuple[Row, ...]
    unasked: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, float], ...] = ()
    seconds: float = 0.0
    swept: int = 0
    stopped: str = ""
    left: str = ""
    hosts: int = 0


def empty_proof(taken: Snapshot, unasked: tuple[tuple[str, str], ...]) -> Proof:
    return Proof(taken.taken, (), unasked, seconds=taken.took, hosts=len(taken.inventory.hosts))


@dataclass
class Prover:
    """`prometheus` and `grafana` are a text where they cannot be asked. `timeout` is for all but the removal."""

    cluster: Cluster
    prometheus: Prometheus | str
    grafana: Grafana | str
    places: Sequence[Place]
    report: Reporter = silent
    timeout: float = TIMEOUT
    cancelled: Callable[[], str] = lambda: ""
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    made: dict[str, PodResult] = field(default_factory=dict)
    parts: dict[str, float] = field(default_factory=dict)
    opened: bool = False
    begun: str = ""
    swept: int = 0

    def prove(self, unasked: Sequence[tuple[str, str]] = ()) -> Proof:
        """Raises RolloutError where the namespace is not ours. Everything else is an answer."""
        taken, begun = datetime.now(UTC), self.clock()
        end, left = begun + self.timeout, ""
        try:
            self.time_part("kernel", lambda: self.start_pods(end))
            series = self.time_part("series", lambda: self.watch_series(end))
            shown, refusal = self.time_part("dashboard", lambda: self.compare_panel(series))
        finally:
            left = self.time_part("removal", self.remove_pods)
        rows = judge(Asked(self.places, tuple(self.made.values()), series, shown, refusal))
        seconds = self.clock() - begun
        parts, stopped = tuple(self.parts.items()), self.cancelled()
        return Proof(taken, rows, tuple(unasked), parts, seconds, self.swept, stopped, left)

    def time_part(self, part: str, work: Callable[[], Result]) -> Result:
        started = self.clock()
        try:
            return work()
        finally:
            self.parts[part] = self.clock() - started
            if self.begun == part:
                self.report(Event("done", part, "", self.parts[part]))

    def begin_part(self, part: str, what: str) -> None:
        self.begun = part
        self.report(Event("step", part, what))

    def start_pods(self, end: float) -> None:
        """Until each pod has its GPU, or will get none."""
        wanted = [(place.node, number) for place in self.places for number in range(place.wanted)]
        if not wanted:
            return
        self.begin_part("kernel", f"{len(wanted)} pods on {len({node for node, _ in wanted})} nodes")
        try:
            self.swept, self.opened = self.cluster.open(), True
        except ApiRefused as refused:
            self.made = {f"{node}-{n}": PodResult(f"{node}-{n}", node, "stuck", str(refused)) for node, n in wanted}
            return
        if self.swept:
            self.report(Event("note", "kernel", f"{self.swept} pods of an earlier proof were removed"))
        for at, (node, _) in enumerate(wanted):
            if not self.cancelled():
                self.create(f"proof-{self.run}-{at}", node)
        self.follow_pods(end)

    def create(self, name: str, node: str) -> None:
        try:
            self.cluster.create(pod_manifest(name, node, self.run, self.timeout))
        except ApiRefused as refused:
            self.made[name] = PodResult(name, node, "stuck", str(refused))
        else:
            self.made[name] = PodResult(name, node, "waiting")

    def follow_pods(self, end: float) -> None:
        """A pod that finds no place may be waiting for one that an earlier proof had: it is believed a little later."""
        patience = self.clock() + PLACE_LIMIT
        while waiting := [one for one in self.made.values() if one.stage == "waiting"]:
            if self.cancelled() or self.clock() > end:
                break
            if self.clock() > patience and all("Unschedulable" in one.why for one in waiting):
                break
            self.wait(LOOK)
            self.update_pods()
            ready = sum(one.stage != "waiting" for one in self.made.values())
            self.report(Event("waiting", "kernel", f"{ready} of {len(self.made)} pods are through"))
        for name, one in self.made.items():
            if one.stage == "waiting":
                why = one.why or self.cluster.warning(name) or "it did not start in time"
                self.made[name] = PodResult(name, one.node, "stuck", self.cancelled() or why)

    def update_pods(self) -> None:
        try:
            found = self.cluster.all(self.run)
        except ApiRefused as refused:
            self.report(Event("waiting", "kernel", str(refused)))
            return
        for one in found:
            name = one["metadata"]["name"]
            if name in self.made and self.made[name].stage == "waiting":
                self.made[name] = self.read_pod(name, one)

    def read_pod(self, name: str, one: Mapping[str, Any]) -> PodResult:
        found = judge_pod(one, {})
        if found.stage != "held":
            return found
        output = {container: self.cluster.log(name, container) for container in (KERNEL, ASKED)}
        return judge_pod(one, {container: text for container, text in output.items() if text is not None})

    def watch_series(self, end: float) -> Series | str:
        """Until each GPU that a pod met has a sample of after that, for two scrapes at most."""
        if isinstance(self.prometheus, str):
            return self.prometheus
        self.begin_part("series", "asking Prometheus")
        try:
            found = self.prometheus.look()
            since = found.now
            met = {visible.uuid for one in self.made.values() for visible in one.visible}
            until = min(self.clock() + 2 * found.interval + SERIES_SPARE, end)
            while late := {uuid for uuid in met if not any(one.at >= since for one in found.of(uuid))}:
                if self.cancelled() or self.clock() > until:
                    return self.prometheus.look(targets=True)
                output = f"{len(late)} of {len(met)} GPUs have no new sample yet, scraped every {found.interval:.0f} s"
                self.report(Event("waiting", "series", output))
                self.wait(SERIES_LOOK)
                found = self.prometheus.look()
        except NoAnswer as error:
            return str(error)
        return found

    def compare_panel(self, series: Series | str) -> tuple[Shown | str, str]:
        """What the panel showed, and the error of its data source."""
        if isinstance(self.grafana, str):
            return self.grafana, ""
        if isinstance(series, str) or isinstance(self.prometheus, str):
            return "there is nothing to compare a panel with: Prometheus was not queried", ""
        self.begin_part("dashboard", "asking Grafana")
        shown = Shown({}, {})
        for _ in range(PANEL_TIMES):
            try:
                points = self.grafana.panel(series.metric or "DCGM_FI_DEV_GPU_TEMP", self.prometheus.now())
                times = sorted({at for at, _ in points.values()})
                truths = {at: self.prometheus.values(at) for at in times}
            except NoAnswer as error:
                return str(error), ""
            except Refusal as refusal:
                return "", str(refusal)
            truth = {uuid: truths[at][uuid] for uuid, (at, _) in points.items() if uuid in truths[at]}
            shown = Shown(points, truth)
            same = all(truth.get(uuid) == value for uuid, (_, value) in points.items())
            if self.cancelled() or (same and {one.uuid for one in series.samples} <= set(points)):
                break
            self.wait(PANEL_AGAIN)
        return shown, ""

    def remove_pods(self) -> str:
        """What is left; empty for nothing."""
        if not self.opened:
            return ""
        self.begin_part("removal", "taking the pods away")
        late = f"they end by themselves within {self.timeout + SPARE:.0f} s"
        try:
            return "" if self.cluster.remove(self.run) else f"pods of the proof are still there; {late}"
        except ApiRefused as refused:
            return f"the pods could not be removed ({refused}); {late}"
