"""The verdicts on all GPUs and nodes of a Prometheus, and the incidents that several nodes share."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpustack.errors import UsageError
from gpustack.exit_status import ExitStatus, select_status
from gpustack.gpus.device import OLD, build_sort_key, group_owners
from gpustack.gpus.fleet import SHARED
from gpustack.health.gpu_signs import list_signs
from gpustack.health.incidents import Incident, find_incidents
from gpustack.health.judge import GpuHealth, judge_signs
from gpustack.health.nodes import NodeHealth, judge_node
from gpustack.health.sign import Sign, Verdict
from gpustack.health.sources import HeardGpu, NodeOffer, Sources
from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.readings import Reading

UNWELL: tuple[Verdict, ...] = ("restart-app", "reset", "reboot", "replace")


@dataclass(frozen=True)
class Health:
    """Hold the verdicts by node and index. `doubts` are sentences about what was left out."""

    gpus: tuple[GpuHealth, ...]
    nodes: tuple[NodeHealth, ...]
    incidents: tuple[Incident, ...]
    doubts: tuple[str, ...]
    time: float

    @property
    def exit_status(self) -> ExitStatus:
        verdicts = {*(gpu.verdict for gpu in self.gpus), *(node.verdict for node in self.nodes)}
        return select_status(differs=verdicts & set(UNWELL), unknown="unknown" in verdicts)


def build_health(sources: Sources) -> Health:
    boards = group_boards(sources.readings.newest)
    incidents = find_incidents(reading for board in boards.values() for reading in board)
    owners = group_board_owners(sources)
    divided_nodes = {reading.gpu.node for reading in sources.readings.newest if reading.gpu.instance}
    shared_xids = {incident.xid for incident in incidents}
    signs = {
        uuid: list_signs(board, has_instances=board[0].gpu.node in divided_nodes, shared_xids=shared_xids)
        for uuid, board in boards.items()
    }
    gpus_by_node: dict[str, list[GpuHealth]] = {}
    for node, uuids in group_by_node(boards).items():
        node_signs = {uuid: signs[uuid] for uuid in uuids}
        offer, is_shared = sources.offers.get(node, NodeOffer()), sources.sharing.get(node) in SHARED
        for uuid in uuids:
            own_signs = (*signs[uuid], *find_kubelet_signs(uuid, node_signs, offer, is_shared=is_shared))
            gpus_by_node.setdefault(node, []).append(judge_gpu(boards[uuid], own_signs, owners.get(uuid, ())))
    for gpu in find_silent_gpus(sources.heard_gpus, boards, sources.offers):
        gpus_by_node.setdefault(gpu.gpu.node, []).append(gpu)
    names = sorted({*gpus_by_node, *(node for node, offer in sources.offers.items() if offer.capacity_count)})
    nodes = tuple(
        judge_node(name, gpus_by_node.get(name, ()), sources, is_divided=name in divided_nodes) for name in names
    )
    gpus = sorted(
        (gpu for entries in gpus_by_node.values() for gpu in entries), key=lambda entry: build_sort_key(entry.gpu)
    )
    return Health(tuple(gpus), nodes, incidents, sources.readings.doubts, sources.time)


def group_boards(readings: Iterable[Reading]) -> dict[str, list[Reading]]:
    """Group the readings by GPU, those of MIG instances with their board. Readings that are older than a scrape than
    the newest one of the GPU are left out."""
    boards: dict[str, list[Reading]] = {}
    for reading in readings:
        boards.setdefault(reading.gpu.key[0], []).append(reading)
    newest = {uuid: max(reading.time for reading in board) for uuid, board in boards.items()}
    return {
        uuid: [reading for reading in board if reading.time >= newest[uuid] - OLD] for uuid, board in boards.items()
    }


def group_board_owners(sources: Sources) -> dict[str, tuple[Owner, ...]]:
    """Group the pods by GPU, those of MIG instances with their board."""
    board_owners: dict[str, set[Owner]] = {}
    for (uuid, _), owners in group_owners(sources.readings).items():
        board_owners.setdefault(uuid, set()).update(owners)
    return {uuid: tuple(sorted(owners)) for uuid, owners in board_owners.items()}


def group_by_node(boards: Mapping[str, Sequence[Reading]]) -> dict[str, list[str]]:
    nodes: dict[str, list[str]] = {}
    for uuid, board in boards.items():
        nodes.setdefault(board[0].gpu.node, []).append(uuid)
    return nodes


def find_kubelet_signs(
    uuid: str, node_signs: Mapping[str, Sequence[Sign]], offer: NodeOffer, *, is_shared: bool
) -> Iterator[Sign]:
    """Find what the kubelet says of a GPU. It offers units and does not name them: those that it withholds are of this
    GPU where no more GPUs of the node have a fault than it withholds. A share says less than a GPU, so of a shared one
    nothing is concluded."""
    withheld_count = offer.withheld_count
    if withheld_count is None:
        return
    if not withheld_count:
        yield Sign("kubelet", "ok")
        return
    faulty = {name for name, signs in node_signs.items() if any(sign.verdict != "ok" for sign in signs)}
    if is_shared or not faulty or len(faulty) > withheld_count:
        return
    if uuid in faulty:
        yield Sign("kubelet", "reset", f"the kubelet does not offer {withheld_count} of {offer.capacity_count}")
    elif len(faulty) == withheld_count:
        yield Sign("kubelet", "ok")


def judge_gpu(board: Sequence[Reading], signs: Collection[Sign], owners: tuple[Owner, ...]) -> GpuHealth:
    newest = max(board, key=lambda reading: reading.time)
    verdict, reason = judge_signs(tuple(signs))
    faults = tuple(dict.fromkeys(sign for sign in signs if sign.verdict != "ok"))
    whole = replace(newest.gpu, instance="", profile="")
    return GpuHealth(whole, owners, verdict, reason, faults or tuple(dict.fromkeys(signs)), newest.time)


def find_silent_gpus(
    heard_gpus: Iterable[HeardGpu], boards: Collection[str], nodes: Collection[str]
) -> Iterator[GpuHealth]:
    """Find the GPUs of these nodes that sent values within a day and send none now."""
    for heard in heard_gpus:
        if heard.uuid not in boards and heard.node in nodes:
            reason = "it sent values within the last day and sends none now"
            yield GpuHealth(Gpu(heard.node, "", heard.uuid, model=heard.model), (), "unknown", reason, (), None)


def select_gpus(health: Health, *, node: str = "", gpu: str = "") -> Health:
    """Select the GPUs of a node, and those with this index, or whose UUID begins with it. Of a chosen GPU the verdict
    of its node does not count. Raise UsageError where none is left."""
    entries = [
        entry
        for entry in health.gpus
        if node in ("", entry.gpu.node) and (gpu in ("", entry.gpu.index) or entry.gpu.uuid.startswith(gpu))
    ]
    nodes = () if gpu else tuple(entry for entry in health.nodes if node in ("", entry.node))
    if not entries and not nodes:
        known = ", ".join(entry.node for entry in health.nodes)
        message = f"There is no GPU{f' {gpu}' if gpu else ''}{f' of node {node}' if node else ''}."
        raise UsageError("gpu-unknown", message, f"Nodes with GPUs are: {known}.")
    return replace(health, gpus=tuple(entries), nodes=nodes)
