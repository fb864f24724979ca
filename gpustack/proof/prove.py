"""The run of a proof: a pod for every free GPU, the series in Prometheus, the panel in Grafana. The pods are removed in
any case. The answers are judged in proof/chain.py."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from gpustack.ask.snapshot import Snapshot
from gpustack.events import INTERRUPTED, Event, Reporter, ignore_event
from gpustack.exit_status import ExitStatus, select_status
from gpustack.proof.chain import PanelComparison, Place, ProofAnswers, Row, judge
from gpustack.proof.grafana import Grafana, Refusal
from gpustack.proof.http import NoAnswer
from gpustack.proof.pod import ApiRefused
from gpustack.proof.prometheus import Prometheus, Series
from gpustack.proof.workload import ASKED, KERNEL, SPARE, PodResult, build_pod, judge_pod

Result = TypeVar("Result")
TIMEOUT = 180.0
LOOK = 0.5
# Seconds between two reads of series, beyond two scrapes, for an unschedulable pod to find a node, and until a panel is
# queried again (a scrape may arrive between two queries), with the number of queries.
SERIES_LOOK, SERIES_SPARE, PLACE_LIMIT, PANEL_AGAIN, PANEL_TIMES = 1.0, 3.0, 20.0, 1.0, 3


class Cluster(Protocol):
    """Declare the methods of `Pods` in gpustack/proof/pod.py. Every method raises ApiRefused but the reads of logs and
    warnings."""

    def open(self) -> int: ...
    def create(self, manifest: Mapping[str, Any]) -> None: ...
    def list_pods(self, run: str = "") -> list[dict[str, Any]]: ...
    def read_log(self, pod: str, container: str) -> str | None: ...
    def find_warning(self, pod: str) -> str: ...
    def remove(self, run: str) -> bool: ...


@dataclass(frozen=True)
class Proof:
    """Hold the result of a proof, with a row per GPU. `skipped_hosts` are hosts that were not reached or are no node,
    with the reason, and `hosts` is the number of hosts. `parts` are the seconds of each part. `removed_pods` is the
    number of pods of earlier proofs, `stop_reason` is why the proof ended early, and `remaining` what could not be
    removed."""

    started_at: datetime
    rows: tuple[Row, ...]
    skipped_hosts: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, float], ...] = ()
    seconds: float = 0.0
    removed_pods: int = 0
    stop_reason: str = ""
    remaining: str = ""
    hosts: int = 0

    @property
    def exit_status(self) -> ExitStatus:
        """Return the status of the proof. GPUs in use do not count unless there are no others."""
        outcomes = {link.outcome for row in self.rows for _, link in row.links}
        all_in_use = {row.kernel.outcome for row in self.rows} == {"skipped"}
        return select_status(
            {
                ExitStatus.INTERRUPTED: self.stop_reason == INTERRUPTED,
                ExitStatus.FAILED: self.stop_reason,
                ExitStatus.DIFFERS: "failed" in outcomes or self.remaining,
                ExitStatus.UNKNOWN: "unknown" in outcomes or self.skipped_hosts or all_in_use,
            }
        )


def empty_proof(snapshot: Snapshot, skipped_hosts: tuple[tuple[str, str], ...]) -> Proof:
    return Proof(snapshot.started_at, (), skipped_hosts, seconds=snapshot.seconds, hosts=len(snapshot.inventory.hosts))


@dataclass
class Prover:
    """Run a proof. `prometheus` and `grafana` are the reason as text where they cannot be reached. `timeout` is in
    seconds, without the removal of pods."""

    cluster: Cluster
    prometheus: Prometheus | str
    grafana: Grafana | str
    places: Sequence[Place]
    report: Reporter = ignore_event
    timeout: float = TIMEOUT
    find_stop_reason: Callable[[], str] = lambda: ""
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    results: dict[str, PodResult] = field(default_factory=dict)
    parts: dict[str, float] = field(default_factory=dict)
    opened: bool = False
    current_part: str = ""
    removed_pods: int = 0

    def prove(self, skipped_hosts: Sequence[tuple[str, str]] = ()) -> Proof:
        """Run the parts of the proof, remove the pods, and judge the answers. Raise RolloutError where the namespace
        was not created by gpustack. Other failures are in the result."""
        started_at, start = datetime.now(UTC), self.clock()
        end, remaining = start + self.timeout, ""
        try:
            self.time_part("kernel", lambda: self.start_pods(end))
            series = self.time_part("series", lambda: self.watch_series(end))
            comparison, refusal = self.time_part("dashboard", lambda: self.compare_panel(series))
        finally:
            remaining = self.time_part("removal", self.remove_pods)
        rows = judge(ProofAnswers(self.places, tuple(self.results.values()), series, comparison, refusal))
        seconds = self.clock() - start
        parts, stop_reason = tuple(self.parts.items()), self.find_stop_reason()
        return Proof(started_at, rows, tuple(skipped_hosts), parts, seconds, self.removed_pods, stop_reason, remaining)

    def time_part(self, part: str, work: Callable[[], Result]) -> Result:
        started_at = self.clock()
        try:
            return work()
        finally:
            self.parts[part] = self.clock() - started_at
            if self.current_part == part:
                self.report(Event("done", part, "", self.parts[part]))

    def begin_part(self, part: str, message: str) -> None:
        self.current_part = part
        self.report(Event("step", part, message))

    def start_pods(self, end: float) -> None:
        """Create the pods, and follow them until each has a GPU or will get none."""
        planned_pods = [(place.node, number) for place in self.places for number in range(place.pod_count)]
        if not planned_pods:
            return
        self.begin_part("kernel", f"{len(planned_pods)} pods on {len({node for node, _ in planned_pods})} nodes")
        try:
            self.removed_pods, self.opened = self.cluster.open(), True
        except ApiRefused as error:
            self.results = {
                f"{node}-{index}": PodResult(f"{node}-{index}", node, "stuck", str(error))
                for node, index in planned_pods
            }
            return
        if self.removed_pods:
            self.report(Event("note", "kernel", f"{self.removed_pods} pods of an earlier proof were removed"))
        for position, (node, _) in enumerate(planned_pods):
            if not self.find_stop_reason():
                self.create(f"proof-{self.run}-{position}", node)
        self.follow_pods(end)

    def create(self, name: str, node: str) -> None:
        try:
            self.cluster.create(build_pod(name, node, self.run, self.timeout))
        except ApiRefused as error:
            self.results[name] = PodResult(name, node, "stuck", str(error))
        else:
            self.results[name] = PodResult(name, node, "waiting")

    def follow_pods(self, end: float) -> None:
        """Follow the pods until none is waiting. An unschedulable pod is awaited for PLACE_LIMIT, because it may wait
        for the GPU of an earlier proof."""
        patience = self.clock() + PLACE_LIMIT
        while waiting := [pod_result for pod_result in self.results.values() if pod_result.stage == "waiting"]:
            if self.find_stop_reason() or self.clock() > end:
                break
            if self.clock() > patience and all("Unschedulable" in waiting_result.reason for waiting_result in waiting):
                break
            self.wait(LOOK)
            self.update_pods()
            ready = sum(result.stage != "waiting" for result in self.results.values())
            self.report(Event("waiting", "kernel", f"{ready} of {len(self.results)} pods are through"))
        for name, result in self.results.items():
            if result.stage == "waiting":
                reason = result.reason or self.cluster.find_warning(name) or "it did not start in time"
                self.results[name] = PodResult(name, result.node, "stuck", self.find_stop_reason() or reason)

    def update_pods(self) -> None:
        try:
            pods = self.cluster.list_pods(self.run)
        except ApiRefused as error:
            self.report(Event("waiting", "kernel", str(error)))
            return
        for pod in pods:
            name = pod["metadata"]["name"]
            if name in self.results and self.results[name].stage == "waiting":
                self.results[name] = self.read_pod(name, pod)

    def read_pod(self, name: str, document: Mapping[str, Any]) -> PodResult:
        pod = judge_pod(document, {})
        if pod.stage != "held":
            return pod
        output = {container: self.cluster.read_log(name, container) for container in (KERNEL, ASKED)}
        return judge_pod(document, {container: text for container, text in output.items() if text is not None})

    def watch_series(self, end: float) -> Series | str:
        """Query the series until each GPU of a pod has a sample newer than the first query, for at most two scrapes."""
        if isinstance(self.prometheus, str):
            return self.prometheus
        self.begin_part("series", "asking Prometheus")
        try:
            series = self.prometheus.query_series()
            first_look = series.timestamp
            uuids = {visible.uuid for pod_result in self.results.values() for visible in pod_result.visible}
            deadline = min(self.clock() + 2 * series.interval + SERIES_SPARE, end)
            while late_uuids := {
                uuid
                for uuid in uuids
                if not any(sample.timestamp >= first_look for sample in series.list_samples(uuid))
            }:
                if self.find_stop_reason() or self.clock() > deadline:
                    return self.prometheus.query_series(targets=True)
                progress = f"{len(late_uuids)} of {len(uuids)} GPUs have no new sample yet"
                self.report(Event("waiting", "series", f"{progress}, scraped every {series.interval:.0f} s"))
                self.wait(SERIES_LOOK)
                series = self.prometheus.query_series()
        except NoAnswer as error:
            return str(error)
        return series

    def compare_panel(self, series: Series | str) -> tuple[PanelComparison | str, str]:
        """Query the panel, and return the comparison with Prometheus and the error of the data source."""
        if isinstance(self.grafana, str):
            return self.grafana, ""
        if isinstance(series, str) or isinstance(self.prometheus, str):
            return "there is nothing to compare a panel with: Prometheus was not queried", ""
        self.begin_part("dashboard", "asking Grafana")
        comparison = PanelComparison({}, {})
        for _ in range(PANEL_TIMES):
            try:
                points = self.grafana.query_panel(series.metric or "DCGM_FI_DEV_GPU_TEMP", self.prometheus.query_time())
                times = sorted({timestamp for timestamp, _ in points.values()})
                truths = {moment: self.prometheus.query_values(moment) for moment in times}
            except NoAnswer as error:
                return str(error), ""
            except Refusal as refusal:
                return "", str(refusal)
            truth = {
                uuid: truths[point_time][uuid] for uuid, (point_time, _) in points.items() if uuid in truths[point_time]
            }
            comparison = PanelComparison(points, truth)
            is_same = all(truth.get(uuid) == value for uuid, (_, value) in points.items())
            if self.find_stop_reason() or (is_same and {sample.uuid for sample in series.samples} <= set(points)):
                break
            self.wait(PANEL_AGAIN)
        return comparison, ""

    def remove_pods(self) -> str:
        """Remove the pods, and return the reason why some remain, or an empty text."""
        if not self.opened:
            return ""
        self.begin_part("removal", "taking the pods away")
        late = f"they end by themselves within {self.timeout + SPARE:.0f} s"
        try:
            return "" if self.cluster.remove(self.run) else f"pods of the proof are still there; {late}"
        except ApiRefused as error:
            return f"the pods could not be removed ({error}); {late}"
