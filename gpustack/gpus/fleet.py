"""`gpu list` shows every GPU with its model, owner and health, and its differences from others of its model."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpustack.gpus.device import ACTIVITY, XID, Device, is_serious, list_devices
from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.readings import Reading, Readings
from gpustack.vocabulary.basis import Basis
from gpustack.vocabulary.fields import DEV, PROF
from gpustack.vocabulary.memory import MEMORY, TOTAL_MEMORY
from gpustack.vocabulary.xids import load_xids

PCIE = {
    "generation": f"{DEV}PCIE_LINK_GEN",
    "width": f"{DEV}PCIE_LINK_WIDTH",
    "most_generation": f"{DEV}PCIE_MAX_LINK_GEN",
    "most_width": f"{DEV}PCIE_MAX_LINK_WIDTH",
}
# Of all links together: whichever the exporter has, if the GPU has any.
NVLINK = (f"{DEV}NVLINK_BANDWIDTH_TOTAL", f"{DEV}NVLINK_COUNT_TX_BYTES", f"{PROF}NVLINK_TX_BYTES")
ECC, MIG = f"{DEV}ECC_CURRENT", f"{DEV}MIG_MODE"
ACTION = f"{DEV}GET_GPU_RECOVERY_ACTION"
FAILURE_FLAGS = {
    f"{DEV}ROW_REMAP_FAILURE": "a row could not be replaced",
    f"{DEV}THRESHOLD_SRM": "too many errors of SRAM",
    f"{DEV}MEMORY_UNREPAIRABLE_FLAG": "memory cannot be repaired",
}
PENDING_FLAGS = {
    f"{DEV}ROW_REMAP_PENDING": "a row is replaced at the next reset",
    f"{DEV}RETIRED_PENDING": "pages are retired at the next reset",
}
# What tells that a GPU was looked at: of one without any of these, health is unknown.
HEALTH = (XID, ACTION, *FAILURE_FLAGS, *PENDING_FLAGS)
FIELDS = (*MEMORY, *ACTIVITY, *PCIE.values(), *NVLINK, ECC, MIG, f"{DEV}GPU_TEMP", *HEALTH)
SHARING_STRATEGIES = ("time-slicing", "mps")
# nvml.h: nvmlDeviceGpuRecoveryAction_t; DCGM passes it on, and knows 1 to 4 by name (dcgm_structs.h).
ACTIONS = {
    1: "reset the GPU",
    2: "reboot the host",
    3: "drain peer-to-peer traffic",
    4: "drain and reset the GPU",
    5: "recover the IMEX domain",
    6: "reset the PCIe bus of the GPU",
    7: "reboot the system",
}


@dataclass(frozen=True)
class Card:
    """Describe a GPU, or a MIG instance of one. None is a value that its exporter does not send. `memory` is in bytes.
    `nvlink` tells whether it has counts of NVLink. `owners` are all pods that the exporter names, of which `owner` is
    the first; `in_use` tells whether a pod has it, None where that is not known; `sharing` is how its node shares
    GPUs. `ill` are sentences about its health; `known` tells whether there
    is any value to judge it by. `odd` are the traits in which it differs from most of its model. `time` is that of its
    newest value. `basis` is that of its numbers, by attribute."""

    gpu: Gpu
    memory: float | None
    generation: int | None
    width: int | None
    most_generation: int | None
    most_width: int | None
    ecc: bool | None
    mig: bool | None
    ill: tuple[str, ...]
    known: bool
    time: float
    odd: tuple[str, ...] = ()
    nvlink: bool | None = None
    owners: tuple[Owner, ...] = ()
    sharing: str | None = None
    in_use: bool | None = None
    basis: Mapping[str, Basis] = field(default_factory=dict)

    @property
    def owner(self) -> Owner | None:
        return next(iter(self.owners), None)


@dataclass(frozen=True)
class Fleet:
    cards: tuple[Card, ...]
    doubts: tuple[str, ...]
    time: float


def build_fleet(readings: Readings, time: float, sharing: Mapping[str, str] | None = None) -> Fleet:
    """Build the list of GPUs by node and index; instances of a GPU follow it. `time` is that of the server's clock, by
    which ages are shown. `sharing` says by node how GPUs are shared."""
    cards = [
        replace(card, sharing=(sharing or {}).get(card.gpu.node)) for card in map(build_card, list_devices(readings))
    ]
    return Fleet(tuple(mark_odd(cards)), (*readings.doubts, *find_sharing_doubts(cards)), time)


def find_sharing_doubts(cards: Iterable[Card]) -> Iterator[str]:
    """Find the nodes whose exporter may name one of several pods. An exporter that tells them apart names all of
    them."""
    nodes = {card.gpu.node for card in cards if card.sharing in SHARING_STRATEGIES and len(card.owners) == 1}
    if nodes:
        yield f"GPUs of {', '.join(sorted(nodes))} are shared: the exporter may name one of several pods only"


def select_cards(fleet: Fleet, *, node: str = "", model: str = "") -> Fleet:
    """Select the GPUs of a node, and those whose model contains a word, whatever its case."""
    cards = (
        card
        for card in fleet.cards
        if node in ("", card.gpu.node) and model.lower() in f"{card.gpu.model} {card.gpu.profile}".lower()
    )
    return replace(fleet, cards=tuple(cards))


def build_card(device: Device) -> Card:
    readings = device.readings
    return Card(
        gpu=device.gpu,
        owners=device.owners,
        in_use=device.in_use,
        memory=device.memory,
        generation=extract_int(readings, PCIE["generation"]),
        width=extract_int(readings, PCIE["width"]),
        most_generation=extract_int(readings, PCIE["most_generation"]),
        most_width=extract_int(readings, PCIE["most_width"]),
        ecc=extract_flag(readings, ECC),
        mig=extract_flag(readings, MIG),
        ill=tuple(list_illnesses(readings)),
        known=any(name in readings for name in HEALTH),
        time=device.time,
        nvlink=True if any(name in readings for name in NVLINK) else None,
        basis={name: device.find_basis(source) for name, source in {"memory": TOTAL_MEMORY, **PCIE}.items()},
    )


def extract_int(readings: Mapping[str, Reading], name: str) -> int | None:
    return int(readings[name].value) if name in readings else None


def extract_flag(readings: Mapping[str, Reading], name: str) -> bool | None:
    return bool(readings[name].value) if name in readings else None


def list_illnesses(readings: Mapping[str, Reading]) -> Iterator[str]:
    """List sentences about the health of a GPU, the driver's own request first."""
    if action := extract_int(readings, ACTION):
        yield describe_action(action)
    if (code := extract_int(readings, XID)) and is_serious(code):
        yield f"Xid {code}: {load_xids()[code].name if code in load_xids() else 'not known here'}"
    for name, sentence in {**FAILURE_FLAGS, **PENDING_FLAGS}.items():
        if extract_flag(readings, name):
            yield sentence


def describe_action(action: int) -> str:
    """Describe the recovery action that the driver asks for."""
    return f"the driver asks: {ACTIONS.get(action, f'action {action}, which is not known here')}"


TRAITS: Mapping[str, Callable[[Card], object]] = {
    "driver": lambda card: card.gpu.driver,
    "VBIOS": lambda card: card.gpu.vbios,
    "memory": lambda card: card.memory,
    "PCIe generation": lambda card: card.most_generation,
    "PCIe lanes": lambda card: card.width,
    "ECC": lambda card: card.ecc,
}


def mark_odd(cards: Sequence[Card]) -> Iterator[Card]:
    """Mark the traits in which each GPU differs from the majority of its model."""
    groups: dict[tuple[str, str], list[Card]] = {}
    for card in cards:
        groups.setdefault((card.gpu.model, card.gpu.profile), []).append(card)
    majorities = {
        model: {trait: find_majority(read_trait(card) for card in group) for trait, read_trait in TRAITS.items()}
        for model, group in groups.items()
    }
    for card in cards:
        majority = majorities[card.gpu.model, card.gpu.profile]
        values = {trait: read_trait(card) for trait, read_trait in TRAITS.items()}
        odd_traits = [
            trait
            for trait in TRAITS
            if None not in (majority[trait], values[trait]) and majority[trait] != values[trait]
        ]
        yield replace(card, odd=tuple(odd_traits))


def find_majority(values: Iterable[object]) -> object:
    """Find the value that more than half of the known values have. Return None where there is none."""
    counts = Counter(value for value in values if value is not None)
    candidate, number = counts.most_common(1)[0] if counts else (None, 0)
    return candidate if number * 2 > counts.total() else None
