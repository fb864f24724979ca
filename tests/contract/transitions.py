"""Healthy transitions: what nodes, exporters and boards go through, as changes of stored series over time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpustack.proof.silence import EXPECTED_ALERTS
from tests.contract.healthy_states import BUSY, LINKS_DOWN, State
from tests.contract.page_changes import add_fields, remove_lines, rename_model
from tests.contract.timelines import Labels, Pieces
from tests.unit.gpus.exporter_faults import Change, D, P, replace

Span = tuple[float, float]
BEGIN = 30
"""The minute at which each transition begins, after half an hour in which all is well."""
FABRIC = f"{D}FABRIC_MANAGER_STATUS"
HGX = (
    rename_model("NVIDIA H100 80GB HBM3"),
    add_fields({FABRIC: 3, LINKS_DOWN: 20, f"{D}NVLINK_BANDWIDTH_TOTAL": 900}),
)
OWN_DRIVER = (remove_lines("nvidia-driver-daemonset-"),)
NVIDIA_DRIVER = (
    replace('created_by_name="nvidia-driver-daemonset"', 'created_by_name="nvidia-gpu-driver-debian12-7f6b9"'),
)
"""The operator names the DaemonSet so where an object NVIDIADriver describes the driver."""


@dataclass(frozen=True)
class Transition:
    """A transition of one node. Spans are minutes: without exporter, not Ready, with a driver in a container that
    starts, without allocatable GPUs. `life`: the node is there; `lost_gpu`: the end of the UUID that is lost.
    `expected` alerts are right, and have their reason."""

    node: str
    source: str = "l4"
    silent: Span | None = None
    unready: Span | None = None
    driver: Span | None = None
    unallocatable: Span | None = None
    life: Span | None = None
    restarts: bool = False
    replaces_gpu: bool = False
    lost_gpu: str = ""
    repeats_job: bool = False
    values: Mapping[str, Pieces] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    kubernetes: tuple[Change, ...] = ()
    expected: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> State:
        return State(self.node, self.source, self.changes, self.kubernetes)

    def change_series(self, labels: Labels, pieces: Pieces) -> Iterator[tuple[Labels, Pieces]]:
        """Change a stored series of this node to what becomes of it."""
        name = labels["__name__"]
        if name.startswith(("DCGM_", "up", "scrape_")):
            yield from self.change_exporter(labels, self.values.get(name, pieces))
            return
        if name in self.values and labels.get("resource") != "cpu":
            pieces = self.values[name]
        if name == "kube_node_status_condition" and labels["status"] == "true" and self.unready:
            pieces = hold_value(pieces, self.unready, 0)
        if (
            name == "kube_pod_status_ready"
            and "exporter" in labels["pod"]
            and labels["condition"] == "true"
            and self.unready
        ):
            pieces = hold_value(pieces, self.unready, 0)
        if (
            name == "kube_pod_status_ready"
            and "driver" in labels["pod"]
            and labels["condition"] == "true"
            and self.driver
        ):
            pieces = hold_value(pieces, self.driver, 0)
        if name == "kube_node_status_allocatable" and "gpu" in labels["resource"] and self.unallocatable:
            pieces = hold_value(pieces, self.unallocatable, 0)
        if name == "kube_node_status_capacity" and "gpu" in labels["resource"] and self.life and self.silent:
            pieces = [(self.silent[1], *pieces[0][1:])]
        yield labels, limit_life(pieces, self.life)

    def change_exporter(self, labels: Labels, pieces: Pieces) -> Iterator[tuple[Labels, Pieces]]:
        if self.silent:
            pieces = interrupt(pieces, self.silent, self.restarts)
        if self.lost_gpu and labels.get("UUID", "").endswith(self.lost_gpu):
            pieces = limit_life(pieces, (0, BEGIN))
        pieces = limit_life(pieces, self.life)
        if self.replaces_gpu and "UUID" in labels and self.silent:
            yield labels, pieces[:2]
            yield {**labels, "UUID": f"{labels['UUID']}-new"}, pieces[2:]
            return
        yield labels, pieces
        if self.repeats_job:
            yield {**labels, "job": "gpustack-dcgm"}, [(BEGIN, *pieces[0][1:])]


def change_series(transitions: Sequence[Transition], labels: Labels, pieces: Pieces) -> Iterator[tuple[Labels, Pieces]]:
    """Change a series by the transition of the node that it tells of, or by what all nodes' drivers and exporters do:
    the pods of a node that is not Ready are not ready."""
    if labels["__name__"] == "kube_daemonset_status_number_ready" and "driver" in labels["daemonset"]:
        yield labels, hold_value(pieces, find_driver_span(transitions), 0)
        return
    if "exporter" in labels.get("daemonset", ""):
        spans = [transition.unready for transition in transitions if transition.unready]
        yield labels, count_pods(len(transitions), spans if "ready" in labels["__name__"] else ())
        return
    pod = labels.get("pod", "")
    told_of = {labels.get("node"), pod.removeprefix("nvidia-dcgm-exporter-")}
    for transition in transitions:
        if transition.node in told_of or pod.endswith(f"daemonset-{transition.node}"):
            yield from transition.change_series(labels, pieces)
            return
    yield labels, pieces


def count_pods(count: int, spans: Sequence[Span]) -> Pieces:
    """Count the pods of a DaemonSet over time. Each span is the time in which one is not ready."""
    minutes = sorted({0.0, *(minute for span in spans for minute in span)})
    return [(minute, count - sum(first <= minute < last for first, last in spans), 0) for minute in minutes]


def find_driver_span(transitions: Sequence[Transition]) -> Span:
    """Find the time in which the driver's container of any node that is there is not ready."""
    spans = [
        (max(transition.driver[0], transition.life[0] if transition.life else 0), transition.driver[1])
        for transition in transitions
        if transition.driver
    ]
    return min(first for first, _ in spans), max(last for _, last in spans)


def find_pod(labels: Labels) -> str:
    return f"{labels['pod'].removeprefix('nvidia-')}:{labels['condition']}"


def evaluate_pieces(pieces: Pieces, minute: float) -> tuple[float, float | None, float]:
    """Find the piece that goes on at a minute, begun there."""
    begin, value, rise = next(piece for piece in reversed(pieces) if piece[0] <= minute)
    return minute, None if value is None else value + rise * (minute - begin), rise


def hold_value(pieces: Pieces, span: Span, value: float | None) -> Pieces:
    """Hold another value in a span; afterwards it is as if nothing had been."""
    first, last = span
    earlier, later = (
        [piece for piece in pieces if piece[0] < first],
        [piece for piece in pieces if piece[0] > last],
    )
    return [*earlier, (first, value, 0), evaluate_pieces(pieces, last), *later]


def interrupt(pieces: Pieces, span: Span, restarts: bool) -> Pieces:
    """End a series for a span. What counts begins anew where the driver was loaded meanwhile."""
    parts = hold_value(pieces, span, None)
    return [
        (minute, 0, rise) if restarts and rise and minute == span[1] else (minute, value, rise)
        for minute, value, rise in parts
    ]


def limit_life(pieces: Pieces, life: Span | None) -> Pieces:
    if life is None:
        return pieces
    first, last = life
    parts = [piece for piece in pieces if first < piece[0] < last]
    earlier = [piece for piece in pieces if piece[0] <= first]
    return [*([(first, *earlier[-1][1:])] if earlier else []), *parts, (last, None, 0)]


END = 90
NODE_DOWN = {"GpuNodeDown": "a node that is away for twenty minutes is down"}
BOOT = {FABRIC: [(0, 3, 0), (BEGIN, 1, 0), (BEGIN + 4, 2, 0), (BEGIN + 7, 3, 0)]}
PROFILING = ("GR_ENGINE_ACTIVE", "SM_ACTIVE", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE", "PCIE_TX_BYTES", "PCIE_RX_BYTES")
TRANSITIONS = (
    Transition("usual"),
    Transition(
        "paused-profiling", changes=(rename_model("NVIDIA L40"), BUSY, add_fields({f"{P}SM_ACTIVE": 0.5})),
        values={f"{P}{name}": [(0, 0.5, 0), (BEGIN, None, 0), (BEGIN + 30, 0.5, 0)] for name in PROFILING},
        expected=dict.fromkeys(EXPECTED_ALERTS["pause"], "the fields are missing for more than 15 minutes"),
    ),
    Transition("exporter-restart", silent=(30, 32)),
    Transition("boot-4", "l4", (30, 34), (30, 33), restarts=True, unallocatable=(30, 34), kubernetes=OWN_DRIVER),
    Transition("boot-4-container", "l4", (30, 34), (30, 33), (30, 34), (30, 34), restarts=True),
    Transition(
        "boot-9", "l4", (30, 39), (30, 33), restarts=True, unallocatable=(30, 39), kubernetes=OWN_DRIVER,
        expected={"GpuMetricsAbsent": "a host's own driver has nothing to compile: the node is Ready and silent"},
    ),
    Transition("boot-9-container", "l4", (30, 39), (30, 33), (30, 39), (30, 39), restarts=True),
    Transition("boot-after-container", "l4", (39, 48), (39, 42), (39, 48), (39, 48), restarts=True),
    Transition(
        "new-node", "l4", (0, 40), driver=(0, 40), unallocatable=(0, 40), life=(30, END + 1), kubernetes=NVIDIA_DRIVER
    ),
    Transition("removed-node", life=(0, 30)),
    Transition("replaced-board", "l4", (30, 50), (30, 50), restarts=True, replaces_gpu=True, expected=NODE_DOWN),
    Transition(
        "second-exporter", repeats_job=True,
        expected={"GpuScrapedTwice": "two jobs scrape one exporter, and sums of its metrics are doubled"},
    ),
    Transition(
        "hgx-boot", "l4", (30, 32), (30, 32), restarts=True, changes=HGX,
        values={**BOOT, "DCGM_EXP_GPU_HEALTH_STATUS": [(0, None, 0), (32, 20, 0), (36, None, 0)]},
    ),
)  # fmt: skip
