"""The run of a proof: a pod for every free GPU, the series in Prometheus, the panel in Grafana. The pods are removed in
any case. The answers are judged in proof/chain.py."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TypeVar

from gpustack.ask.snapshot import Snapshot
from gpustack.command import NO_HINT, Hint
from gpustack.config.inventory import Inventory
from gpustack.events import INTERRUPTION, Event
from gpustack.exit_status import ExitStatus, select_status
from gpustack.probes.kubernetes.node_records import PROOF_RECORD
from gpustack.proof.chain import PanelComparison, Place, ProofAnswers, Row, judge
from gpustack.proof.grafana import Grafana, Refusal
from gpustack.proof.http import NoAnswer
from gpustack.proof.pod import ApiRefused
from gpustack.proof.pod_run import Cluster, PodRun
from gpustack.proof.prometheus import Prometheus, Series
from gpustack.proof.record import MANAGER, format_proof_record, list_proven_nodes, list_proven_uuids
from gpustack.proof.workload import KERNEL, UUID_QUERY, PodResult, build_proof_pod, compute_life, judge_output
from gpustack.rollout.next_command import build_command

Result = TypeVar("Result")
TIMEOUT = 180.0
# Seconds between two reads of series, beyond two scrapes, and until a panel is queried again (a scrape may arrive
# between two queries), with the number of queries.
SERIES_LOOK, SERIES_SPARE, PANEL_AGAIN, PANEL_TIMES = 1.0, 3.0, 1.0, 3


@dataclass(frozen=True)
class Proof:
    """Hold the result of a proof, with a row per GPU. `skipped_hosts` are hosts that were not reached or are no node,
    with the reason, and `hosts` is the number of hosts. `parts` are the seconds of each part. `removed_pods` is the
    number of pods of earlier proofs, `stop_reason` is why the proof ended early, and `remaining` what could not be
    removed. `warnings` name nodes on which the proven GPUs were not recorded."""

    started_at: datetime
    rows: tuple[Row, ...]
    skipped_hosts: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, float], ...] = ()
    seconds: float = 0.0
    removed_pods: int = 0
    stop_reason: str = ""
    remaining: str = ""
    hosts: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def exit_status(self) -> ExitStatus:
        """Return the status of the proof. GPUs in use do not count unless there are no others."""
        outcomes = {link.outcome for row in self.rows for _, link in row.links}
        all_in_use = {row.kernel.outcome for row in self.rows} == {"skipped"}
        return select_status(
            interrupted=self.stop_reason == INTERRUPTION,
            failed=self.stop_reason,
            differs="failed" in outcomes or self.remaining,
            unknown="unknown" in outcomes or self.skipped_hosts or all_in_use,
        )

    def suggest_command(self, inventory: Inventory) -> Hint:
        """Suggest the next command: `verify` where a link does not hold, as its checks say more, and Grafana where all
        GPUs are proven."""
        if self.stop_reason:
            return build_command(inventory, "prove")
        if self.exit_status:
            return build_command(inventory, "verify")
        return build_command(inventory, "access", "grafana") if self.rows else NO_HINT


def empty_proof(snapshot: Snapshot, skipped_hosts: tuple[tuple[str, str], ...]) -> Proof:
    return Proof(snapshot.started_at, (), skipped_hosts, seconds=snapshot.seconds, hosts=len(snapshot.inventory.hosts))


@dataclass
class Prover:
    """Run a proof. `prometheus` and `grafana` are the reason as text where they cannot be reached. `timeout` is in
    seconds, without the removal of pods. With `cordoned`, pods go to cordoned nodes too. `author` is who runs it, and
    `namespace` has the Leases that tell when each node was proven."""

    run: PodRun
    prometheus: Prometheus | str
    grafana: Grafana | str
    places: Sequence[Place]
    namespace: str
    author: str
    timeout: float = TIMEOUT
    cordoned: bool = False
    parts: dict[str, float] = field(default_factory=dict)
    current_part: str = ""

    def prove(self, skipped_hosts: Sequence[tuple[str, str]] = ()) -> Proof:
        """Run the parts of the proof, remove the pods, and judge the answers. Raise RolloutError where the namespace
        was not created by gpustack. Other failures are in the result."""
        started_at, start = datetime.now(UTC), self.run.clock()
        end, remaining = start + self.timeout, ""
        try:
            self.time_part("kernel", lambda: self.start_pods(end))
            series = self.time_part("series", lambda: self.watch_series(end))
            comparison, refusal = self.time_part("dashboard", lambda: self.compare_panel(series))
        finally:
            remaining = self.time_part("removal", self.remove_pods)
        rows = judge(ProofAnswers(self.places, tuple(self.run.pods.values()), series, comparison, refusal))
        seconds = self.run.clock() - start
        parts, stop_reason = tuple(self.parts.items()), self.run.find_stop_reason()
        warnings = () if stop_reason else tuple(self.write_nodes(rows, started_at))
        return Proof(
            started_at, rows, tuple(skipped_hosts), parts, seconds, self.run.removed_pods, stop_reason, remaining,
            warnings=warnings,
        )  # fmt: skip

    def write_nodes(self, rows: Sequence[Row], moment: datetime) -> Iterator[str]:
        """Write to the nodes what the proof shows, through one connection that is opened if it is needed. List what was
        not possible, with the reason."""
        with ExitStack() as connection:
            connect = cache(lambda: connection.enter_context(self.run.connect()))
            yield from self.record_gpus(rows, moment, connect)
            yield from self.open_gates(rows, connect)

    def record_gpus(self, rows: Sequence[Row], moment: datetime, connect: Callable[[], Cluster]) -> Iterator[str]:
        """Record the proven GPUs on their nodes, and the time in a Lease for each node, which Prometheus sees. List the
        nodes of which that is not possible, with the reason."""
        for node, uuids in list_proven_uuids(rows).items():
            lacks = f"which GPUs of {node} are proven was not recorded on it"
            try:
                connect().mark_node(node, PROOF_RECORD, format_proof_record(uuids, moment), MANAGER)
                lacks = f"when {node} was proven was not recorded in a Lease, so Prometheus does not know it"
                connect().record_proof(node, self.namespace, moment, self.author, MANAGER)
            except ApiRefused as error:
                yield f"{lacks}: {error}"

    def open_gates(self, rows: Sequence[Row], connect: Callable[[], Cluster]) -> Iterator[str]:
        """Open the gates of nodes whose every GPU is proven. List those that stay closed, with the reason."""
        gates = {place.node: place.gate for place in self.places if place.gate is not None}
        proven_nodes = list_proven_nodes(rows)
        for node in sorted(gates):
            if node not in proven_nodes:
                yield f"{node} stays behind the gate: not every GPU of it is proven"
                continue
            try:
                if connect().open_gate(node, MANAGER):
                    yield f"{node} stays behind the gate: its GPUs were reset, and gpustack gpu diag comes first"
                else:
                    self.run.report(Event("changed", node, "the gate is open: ordinary pods may come"))
            except ApiRefused as error:
                yield f"{node} stays behind the gate: {error}"

    def time_part(self, part: str, work: Callable[[], Result]) -> Result:
        started_at = self.run.clock()
        try:
            return work()
        finally:
            self.parts[part] = self.run.clock() - started_at
            if self.current_part == part:
                self.run.report(Event("done", part, "", self.parts[part]))

    def begin_part(self, part: str, message: str) -> None:
        self.current_part = part
        self.run.report(Event("step", part, message))

    def start_pods(self, end: float) -> None:
        """Create the pods, and follow them until each has a GPU or will get none."""
        gpu_counts = {place.node: place.pod_count for place in self.places if place.pod_count}
        if not gpu_counts:
            return
        self.current_part = "kernel"
        build = lambda name, node, run: build_proof_pod(name, node, run, self.timeout, cordoned=self.cordoned)  # noqa: E731
        try:
            self.run.create("proof", gpu_counts, build, partial=True)
        except ApiRefused as error:
            self.run.give_up(str(error))
        self.run.start_limit = end - self.run.clock()
        self.run.follow(judge_proof_pod)

    def watch_series(self, end: float) -> Series | str:
        """Query the series until each GPU of a pod has a sample newer than the first query, for at most two scrapes."""
        if isinstance(self.prometheus, str):
            return self.prometheus
        self.begin_part("series", "asking Prometheus")
        try:
            series = self.prometheus.query_series()
            first_look = series.timestamp
            uuids = {visible.uuid for pod_result in self.run.pods.values() for visible in pod_result.gpus}
            deadline = min(self.run.clock() + 2 * series.interval + SERIES_SPARE, end)
            while late_uuids := {
                uuid
                for uuid in uuids
                if not any(sample.timestamp >= first_look for sample in series.list_samples(uuid))
            }:
                if self.run.find_stop_reason() or self.run.clock() > deadline:
                    return self.prometheus.query_series(targets=True)
                progress = f"{len(late_uuids)} of {len(uuids)} GPUs have no new sample yet"
                self.run.report(Event("waiting", "series", f"{progress}, scraped every {series.interval:.0f} s"))
                self.run.wait(SERIES_LOOK)
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
            if self.run.find_stop_reason() or (is_same and {sample.uuid for sample in series.samples} <= set(points)):
                break
            self.run.wait(PANEL_AGAIN)
        return comparison, ""

    def remove_pods(self) -> str:
        """Remove the pods, and return the reason why some remain, or an empty text."""
        if self.run.opened:
            self.begin_part("removal", "taking the pods away")
        reason, life = self.run.remove(), compute_life(self.timeout)
        return f"the pods could not be removed ({reason}); they end by themselves within {life} s" if reason else ""


def judge_proof_pod(cluster: Cluster, pod: PodResult) -> PodResult:
    if pod.stage == "ended":
        return pod
    return judge_output(pod, *(cluster.read_log(pod.name, container) for container in (KERNEL, UUID_QUERY)))
