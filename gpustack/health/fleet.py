"""The verdicts on all GPUs and nodes of a Prometheus, and the incidents that several nodes share."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpustack.errors import UsageError
from gpustack.exit_status import ExitStatus, select_status
from gpustack.gpus.device import OLD, build_sort_key, group_owners
from gpustack.gpus.fleet import ACTION, SHARING_STRATEGIES
from gpustack.health.gpu_signs import list_signs
from gpustack.health.host_signs import (
    describe_device,
    find_proof_signs,
    find_recovery_signs,
    list_log_signs,
    select_lost_lines,
    shorten_bus,
)
from gpustack.health.incidents import Incident, find_incidents, find_logged_incidents, merge_incidents
from gpustack.health.judge import GpuHealth, judge_signs
from gpustack.health.nodes import NodeHealth, judge_node
from gpustack.health.sign import Sign, Verdict
from gpustack.health.sources import NodeOffer, Sources
from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.readings import Reading, Readings

SILENT = "it sent values before and sends none now; `gpustack doctor` asks its host"
LOST_SIGN = Sign("driver", "reboot", "the exporter sends values of other GPUs of the node and none of this one")
"""The sign of a GPU that the driver does not list any more. NVIDIA's action for one that has fallen off the bus (Xid
79) is a restart of the host."""
FRESH_SECONDS = 75
"""The age of values after which a GPU counts as silent: an exporter is scraped once a minute or more often."""
FAULT_VERDICTS: tuple[Verdict, ...] = ("restart-app", "reset", "reboot", "replace")


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
        return select_status(differs=verdicts & set(FAULT_VERDICTS), unknown="unknown" in verdicts)


def build_health(sources: Sources) -> Health:
    boards_by_node = group_boards(
        reading for reading in sources.readings.newest if sources.time - reading.time <= FRESH_SECONDS
    )
    recent_incidents = find_incidents(
        reading for boards in boards_by_node.values() for board in boards.values() for reading in board
    )
    incidents = merge_incidents([*recent_incidents, *find_logged_incidents(sources.hosts.xid_lines)])
    silent_by_node = group_silent_gpus(sources, {uuid for boards in boards_by_node.values() for uuid in boards})
    recent_xids = {incident.xid for incident in recent_incidents}
    gpus_by_node = {
        node: judge_gpus(
            node,
            boards_by_node.get(node, {}),
            silent_by_node.get(node, ()),
            sources,
            recent_xids | {incident.xid for incident in incidents if node in incident.nodes},
        )
        for node in {*boards_by_node, *silent_by_node}
    }
    offering_nodes = (node for node, offer in sources.offers.items() if offer.capacity_count)
    nodes = [judge_node(name, gpus_by_node.get(name, ()), sources) for name in sorted({*gpus_by_node, *offering_nodes})]
    gpus = sorted((gpu for gpus in gpus_by_node.values() for gpu in gpus), key=lambda gpu: build_sort_key(gpu.gpu))
    doubts = (*sources.readings.doubts, *sources.doubts, *sources.hosts.doubts)
    return Health(tuple(gpus), tuple(nodes), incidents, doubts, sources.time)


def group_boards(readings: Iterable[Reading]) -> dict[str, dict[str, list[Reading]]]:
    """Group the readings by node and GPU, those of MIG instances with their board. Readings that are older than a
    scrape than the newest one of the GPU are left out."""
    boards: dict[str, list[Reading]] = {}
    for reading in readings:
        boards.setdefault(reading.gpu.key[0], []).append(reading)
    by_node: dict[str, dict[str, list[Reading]]] = {}
    for uuid, board in boards.items():
        newest = max(reading.time for reading in board)
        current = [reading for reading in board if reading.time >= newest - OLD]
        by_node.setdefault(current[0].gpu.node, {})[uuid] = current
    return by_node


def group_silent_gpus(sources: Sources, boards: Collection[str]) -> dict[str, list[GpuHealth]]:
    """Group by node the GPUs that sent values within the last minutes and send none now, and those of known nodes that
    sent some within a day."""
    silent: dict[str, Gpu] = {}
    for reading in sources.readings.newest:
        silent[reading.gpu.key[0]] = replace(reading.gpu, instance="", profile="")
    for heard_gpu in sources.heard_gpus:
        if heard_gpu.node in sources.offers:
            silent.setdefault(heard_gpu.uuid, Gpu(heard_gpu.node, "", heard_gpu.uuid, model=heard_gpu.model))
    by_node: dict[str, list[GpuHealth]] = {}
    for uuid, gpu in silent.items():
        if uuid not in boards:
            by_node.setdefault(gpu.node, []).append(GpuHealth(gpu, (), "unknown", SILENT, (), None))
    return by_node


def judge_gpus(
    node: str,
    boards: Mapping[str, Sequence[Reading]],
    silent_gpus: Collection[GpuHealth],
    sources: Sources,
    shared_xids: Collection[int],
) -> list[GpuHealth]:
    """Judge the GPUs of a node."""
    present_gpus = {uuid: find_board(board) for uuid, board in boards.items()}
    signs = {uuid: list_board_signs(present_gpus[uuid], board, sources, shared_xids) for uuid, board in boards.items()}
    faulty = {uuid for uuid, own_signs in signs.items() if any(sign.verdict != "ok" for sign in own_signs)}
    silent = {entry.gpu.uuid: entry for entry in silent_gpus}
    lines = sources.hosts.xid_lines.get(node, ())
    for uuid, entry in silent.items():
        own_lines = select_lost_lines(entry.gpu, silent, present_gpus.values(), lines)
        signs[uuid] = [
            *find_recovery_signs(entry.gpu, sources.hosts.recovery_actions.get(node, {})),
            *list_log_signs(own_lines, (), shared_xids),
        ]
    offer, is_shared = sources.find_offer(node), sources.sharing.get(node) in SHARING_STRATEGIES
    for uuid, own_signs in signs.items():
        if device := sources.hosts.devices.get(uuid):
            own_signs.append(describe_device(device))
        else:
            own_signs.extend(find_kubelet_signs(uuid, faulty | silent.keys(), offer, is_shared=is_shared))
    for uuid, gpu in present_gpus.items():
        signs[uuid] += find_proof_signs(gpu, sources.hosts.proven_gpus.get(node))
    owners = group_board_owners(boards)
    return [
        *(judge_silent_gpu(entry, signs[uuid], is_alone=not boards) for uuid, entry in silent.items()),
        *(judge_gpu(present_gpus[uuid], board, signs[uuid], owners.get(uuid, ())) for uuid, board in boards.items()),
    ]


def list_board_signs(gpu: Gpu, board: Sequence[Reading], sources: Sources, shared_xids: Collection[int]) -> list[Sign]:
    """List the signs that the exporter and the kernel log have of a GPU. The log has its address, also on a node with
    MIG instances."""
    has_instances, address = gpu.node in sources.divided_nodes, shorten_bus(gpu.bus)
    signs = list_signs(board, has_instances=has_instances, shared_xids=shared_xids)
    lines = [line for line in sources.hosts.xid_lines.get(gpu.node, ()) if line.address == address]
    known_xids = set() if has_instances else {sign.xid for sign in signs if sign.xid}
    recovery_signs = list(find_recovery_signs(gpu, sources.hosts.recovery_actions.get(gpu.node, {})))
    if not any(reading.field.name == ACTION and reading.value for reading in board):
        signs += recovery_signs
    asks_nothing = not recovery_signs and any(reading.field.name == ACTION and not reading.value for reading in board)
    return signs + list_log_signs(lines, known_xids, shared_xids, driver_asks_nothing=asks_nothing)


def find_board(board: Sequence[Reading]) -> Gpu:
    """Find the whole GPU of the newest reading."""
    return replace(max(board, key=lambda reading: reading.time).gpu, instance="", profile="")


def group_board_owners(boards: Mapping[str, Sequence[Reading]]) -> dict[str, tuple[Owner, ...]]:
    """Group the pods by GPU, those of MIG instances with their board."""
    readings = Readings(tuple(reading for board in boards.values() for reading in board))
    board_owners: dict[str, set[Owner]] = {}
    for (uuid, _), owners in group_owners(readings).items():
        board_owners.setdefault(uuid, set()).update(owners)
    return {uuid: tuple(sorted(owners)) for uuid, owners in board_owners.items()}


def find_kubelet_signs(uuid: str, faulty: Collection[str], offer: NodeOffer, *, is_shared: bool) -> Iterator[Sign]:
    """Find what the kubelet says of a GPU. It offers units and does not name them: those that it withholds are of this
    GPU where no more GPUs of the node have a fault, or are silent, than it withholds. A share says less than a GPU, so
    of a shared one nothing is concluded."""
    withheld_count = offer.withheld_count
    if withheld_count is None:
        return
    if not withheld_count:
        yield Sign("kubelet", "ok")
        return
    if is_shared or not faulty or len(faulty) > withheld_count:
        return
    if uuid in faulty:
        yield Sign("kubelet", "reset", f"the kubelet does not offer {withheld_count} of {offer.capacity_count}")
    elif len(faulty) == withheld_count:
        yield Sign("kubelet", "ok")


def judge_silent_gpu(silent: GpuHealth, other_signs: Sequence[Sign], *, is_alone: bool) -> GpuHealth:
    """Judge a GPU that sends nothing. It is lost where other GPUs of the node send values, and the kubelet withholds it
    or the kernel log names it, and else unknown: `is_alone` tells that nothing is heard of the node, which may have no
    exporter, and a GPU that somebody removed is neither withheld nor named."""
    signs = (LOST_SIGN, *other_signs)
    verdict, reason = judge_signs(signs)
    if is_alone or verdict not in FAULT_VERDICTS:
        return replace(silent, signs=tuple(other_signs))
    return replace(silent, verdict=verdict, reason=reason, signs=signs)


def judge_gpu(gpu: Gpu, board: Sequence[Reading], signs: Sequence[Sign], owners: tuple[Owner, ...]) -> GpuHealth:
    verdict, reason = judge_signs(signs)
    shown_signs = tuple(dict.fromkeys(signs))
    if verdict != "ok":
        shown_signs = tuple(sign for sign in shown_signs if sign.verdict != "ok") or shown_signs
    return GpuHealth(gpu, owners, verdict, reason, shown_signs, max(reading.time for reading in board))


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
        node_names = ", ".join(entry.node for entry in health.nodes)
        message = f"There is no GPU{f' {gpu}' if gpu else ''}{f' of node {node}' if node else ''}."
        raise UsageError("gpu-unknown", message, f"Nodes with GPUs are: {node_names}.")
    return replace(health, gpus=tuple(entries), nodes=nodes)
