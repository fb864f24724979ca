"""`gpu list`: every GPU with what it is, whose it is and how it is, and what sets it apart from others of its model."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpustack.metrics.fields import DEV, PROF
from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.readings import Reading, Readings
from gpustack.metrics.xids import xids

TOTAL, USED, FREE, RESERVED = (f"{DEV}FB_{word}" for word in ("TOTAL", "USED", "FREE", "RESERVED"))
GENERATION, WIDTH = f"{DEV}PCIE_LINK_GEN", f"{DEV}PCIE_LINK_WIDTH"
MOST_GENERATION, MOST_WIDTH = f"{DEV}PCIE_MAX_LINK_GEN", f"{DEV}PCIE_MAX_LINK_WIDTH"
# Of all links together: whichever the exporter has, if the GPU has any.
NVLINK = (f"{DEV}NVLINK_BANDWIDTH_TOTAL", f"{DEV}NVLINK_COUNT_TX_BYTES", f"{PROF}NVLINK_TX_BYTES")
ECC, MIG = f"{DEV}ECC_CURRENT", f"{DEV}MIG_MODE"
XID, ACTION = f"{DEV}XID_ERRORS", f"{DEV}GET_GPU_RECOVERY_ACTION"
FAILED = {
    f"{DEV}ROW_REMAP_FAILURE": "a row could not be replaced",
    f"{DEV}THRESHOLD_SRM": "too many errors of SRAM",
    f"{DEV}MEMORY_UNREPAIRABLE_FLAG": "memory cannot be repaired",
}
PENDING = {
    f"{DEV}ROW_REMAP_PENDING": "a row is replaced at the next reset",
    f"{DEV}RETIRED_PENDING": "pages are retired at the next reset",
}
# What tells that a GPU was looked at: of one without any of these, health is unknown.
HEALTH = (XID, ACTION, *FAILED, *PENDING)
MEMORY, PCIE = (TOTAL, USED, FREE, RESERVED), (GENERATION, WIDTH, MOST_GENERATION, MOST_WIDTH)
FIELDS = (*MEMORY, *PCIE, *NVLINK, ECC, MIG, f"{DEV}GPU_TEMP", *HEALTH)
SHARED = ("time-slicing", "mps")
OLD = 60.0  # seconds; exporters are scraped at least as often
# dcgm_structs.h of DCGM: dcgmGpuRecoveryAction
ACTIONS = {1: "reset the GPU", 2: "reboot the host", 3: "drain peer-to-peer traffic", 4: "drain and reset the GPU"}


@dataclass(frozen=True)
class Card:
    """A GPU, or a MIG instance of one. None is what its exporter does not say. `memory` in bytes. `nvlink`: it has
    counts of NVLink. `owners` are all pods that the exporter names, of which `owner` is the first; `sharing` is how its
    node shares GPUs. `ill` are sentences; `known`: there is anything to judge its health by. `odd`: in what it differs
    from most of its model. `at` is the time of its newest value."""

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
    at: float
    odd: tuple[str, ...] = ()
    nvlink: bool | None = None
    owners: tuple[Owner, ...] = ()
    sharing: str | None = None

    @property
    def owner(self) -> Owner | None:
        return next(iter(self.owners), None)


@dataclass(frozen=True)
class Fleet:
    cards: tuple[Card, ...]
    doubts: tuple[str, ...]
    now: float


def list_fleet(readings: Readings, now: float, sharing: Mapping[str, str] | None = None) -> Fleet:
    """By node and index; instances of a GPU after it. `now` is the time of the server's clock: ages are shown by it.
    `sharing`: how nodes share their GPUs."""
    owners = owners_by_gpu(readings)
    cards = sorted((card_of(found, owners) for found in readings_by_gpu(readings)), key=lambda card: place(card.gpu))
    shared = [replace(card, sharing=(sharing or {}).get(card.gpu.node)) for card in cards]
    return Fleet(tuple(mark_odd(shared)), (*readings.doubts, *hidden(shared)), now)


def hidden(cards: Iterable[Card]) -> Iterator[str]:
    """Where the exporter tells shared GPUs apart by pod, each has several; else it names one pod of them."""
    nodes = {card.gpu.node for card in cards if card.sharing in SHARED and len(card.owners) == 1}
    if nodes:
        yield f"GPUs of {', '.join(sorted(nodes))} are shared: the exporter may name one of several pods only"


def readings_by_gpu(readings: Readings) -> Iterable[Mapping[str, Reading]]:
    """Of each GPU or MIG instance, by the field's name; without what is older than a scrape, which may be of another
    pod's time. Of several Xids the one that counts most."""
    newest: dict[tuple[str, str], float] = {}
    for reading in readings.newest:
        newest[reading.gpu.key] = max(reading.at, newest.get(reading.gpu.key, 0.0))
    by_gpu: dict[tuple[str, str], dict[str, Reading]] = {}
    for reading in readings.newest:
        found = by_gpu.setdefault(reading.gpu.key, {})
        if reading.at < newest[reading.gpu.key] - OLD:
            continue
        other = found.get(reading.field.name)
        if other is None or weight(reading) > weight(other):
            found[reading.field.name] = reading
    return by_gpu.values()


def weight(reading: Reading) -> tuple[bool, bool, float]:
    """A shared GPU may have series of each pod beside its own, which counts."""
    xid = reading.field.name == XID
    return xid and is_serious(int(reading.value)), not xid and not reading.part, reading.at


def is_serious(code: int) -> bool:
    """An Xid that we do not know, or of which NVIDIA says that it is not expected, counts as serious."""
    return code > 0 and (code not in xids() or xids()[code].severity in ("critical", "unknown"))


def owners_by_gpu(readings: Readings) -> dict[tuple[str, str], tuple[Owner, ...]]:
    """All pods of each GPU: a shared one has several where the exporter has a series for each (label vgpu). Where
    several jobs scrape a GPU, one of them may not ask the kubelet."""
    newest: dict[tuple[tuple[str, str], tuple[str, ...]], Reading] = {}
    ends: dict[tuple[str, str], float] = {}
    for reading in readings.newest:
        key = (reading.gpu.key, () if reading.field.name == XID else reading.part)
        ends[reading.gpu.key] = max(reading.at, ends.get(reading.gpu.key, 0.0))
        if reading.owner and (key not in newest or reading.at > newest[key].at):
            newest[key] = reading
    found: dict[tuple[str, str], set[Owner]] = {}
    for (gpu, _), reading in newest.items():
        if reading.owner and reading.at >= ends[gpu] - OLD:
            found.setdefault(gpu, set()).add(reading.owner)
    return {gpu: tuple(sorted(owners)) for gpu, owners in found.items()}


def select(fleet: Fleet, *, node: str = "", model: str = "") -> Fleet:
    """Those of a node, and those whose model has the word in it, whatever its case."""
    kept = (
        card
        for card in fleet.cards
        if node in ("", card.gpu.node) and model.lower() in f"{card.gpu.model} {card.gpu.profile}".lower()
    )
    return replace(fleet, cards=tuple(kept))


def place(gpu: Gpu) -> tuple[str, int, str, str]:
    number = int(gpu.index) if gpu.index.isdigit() else -1
    return gpu.node, number, gpu.uuid, gpu.instance


def card_of(found: Mapping[str, Reading], owners: Mapping[tuple[str, str], tuple[Owner, ...]]) -> Card:
    newest = max(found.values(), key=lambda reading: reading.at)
    return Card(
        gpu=newest.gpu,
        owners=owners.get(newest.gpu.key, ()),
        memory=memory_of(found),
        generation=whole(found, GENERATION),
        width=whole(found, WIDTH),
        most_generation=whole(found, MOST_GENERATION),
        most_width=whole(found, MOST_WIDTH),
        ecc=flag(found, ECC),
        mig=flag(found, MIG),
        ill=tuple(illness(found)),
        known=any(name in found for name in HEALTH),
        at=newest.at,
        nvlink=True if any(name in found for name in NVLINK) else None,
    )


def memory_of(found: Mapping[str, Reading]) -> float | None:
    """Exporters send the total only when asked to; its three parts are in their own list."""
    if TOTAL in found:
        return found[TOTAL].value
    parts = [found[name].value for name in (USED, FREE, RESERVED) if name in found]
    return sum(parts) if len(parts) == 3 else None


def whole(found: Mapping[str, Reading], name: str) -> int | None:
    return int(found[name].value) if name in found else None


def flag(found: Mapping[str, Reading], name: str) -> bool | None:
    return bool(found[name].value) if name in found else None


def illness(found: Mapping[str, Reading]) -> Iterator[str]:
    """The driver's own verdict first."""
    if action := whole(found, ACTION):
        yield f"the driver asks: {ACTIONS.get(action, f'action {action}, which is not known here')}"
    if (code := whole(found, XID)) and is_serious(code):
        yield f"Xid {code}: {xids()[code].name if code in xids() else 'not known here'}"
    for name, what in {**FAILED, **PENDING}.items():
        if flag(found, name):
            yield what


TRAITS: Mapping[str, Callable[[Card], object]] = {
    "driver": lambda card: card.gpu.driver,
    "VBIOS": lambda card: card.gpu.vbios,
    "memory": lambda card: card.memory,
    "PCIe generation": lambda card: card.most_generation,
    "PCIe lanes": lambda card: card.width,
    "ECC": lambda card: card.ecc,
}


def mark_odd(cards: Sequence[Card]) -> Iterator[Card]:
    """In which traits each differs from the majority of its model."""
    of_model: dict[tuple[str, str], list[Card]] = {}
    for card in cards:
        of_model.setdefault((card.gpu.model, card.gpu.profile), []).append(card)
    usual = {
        model: {trait: majority(value(card) for card in group) for trait, value in TRAITS.items()}
        for model, group in of_model.items()
    }
    for card in cards:
        most = usual[card.gpu.model, card.gpu.profile]
        found = {trait: value(card) for trait, value in TRAITS.items()}
        differs = [trait for trait in TRAITS if None not in (most[trait], found[trait]) and most[trait] != found[trait]]
        yield replace(card, odd=tuple(differs))


def majority(values: Iterable[object]) -> object:
    """What more than half of those have that say anything; None without."""
    counted = Counter(value for value in values if value is not None)
    most, number = counted.most_common(1)[0] if counted else (None, 0)
    return most if number * 2 > counted.total() else None
