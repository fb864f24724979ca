"""The fleet as a table for people."""

from collections.abc import Iterable

from gpustack.events import count
from gpustack.gpus.fleet import Card, Fleet
from gpustack.metrics.gpus import Gpu, Owner
from gpustack.report.format import duration
from gpustack.report.table import draw
from gpustack.report.terminal import Terminal

GIB = 2**30
HEADINGS = ("NODE", "GPU", "MODEL", "MEMORY", "PCIE", "ECC", "DRIVER", "USED BY", "HEALTH")
UNKNOWN = "-"
VENDOR = "NVIDIA "
STALE = 60  # seconds; a younger value needs no age


def fleet(console: Terminal, found: Fleet) -> None:
    # Without any pod at all, it may be that the exporters do not ask the kubelet.
    nobody = "free" if any(card.owner for card in found.cards) else UNKNOWN
    console.print(draw(console, HEADINGS, (cells(card, found.now, nobody) for card in found.cards)))
    console.print(f"\n{summary(found)}")
    if nobody == UNKNOWN:
        console.print("note: no GPU has a pod: none is in use, or the exporters do not ask the kubelet")
    for doubt in found.doubts:
        console.print(console.clean(f"note: {doubt}"))


def index_of(gpu: Gpu) -> str:
    """`3`, and `3:1` for a MIG instance of it."""
    return f"{gpu.index}:{gpu.instance}" if gpu.instance else gpu.index


def cells(card: Card, now: float, nobody: str) -> tuple[str, ...]:
    return (
        card.gpu.node,
        index_of(card.gpu),
        " ".join(filter(None, (card.gpu.model.removeprefix(VENDOR), card.gpu.profile))) or UNKNOWN,
        f"{card.memory / GIB:.0f} GiB" if card.memory else UNKNOWN,
        link(card),
        {None: UNKNOWN, True: "on", False: "off"}[card.ecc],
        card.gpu.driver or UNKNOWN,
        used_by(card.owners) or nobody,
        health(card, now),
    )


def used_by(owners: Iterable[Owner]) -> str:
    """By name; the containers of a pod once."""
    return ", ".join(dict.fromkeys(owner.path for owner in owners))


def link(card: Card) -> str:
    """`5 x16`, and `3 x8 of 5 x16` where the slot could do more. An idle link may run slower: only lanes tell."""
    now, most = (card.generation, card.width), (card.most_generation, card.most_width)
    if None in now:
        return UNKNOWN
    shown = f"{now[0]} x{now[1]}"
    return shown if None in most or now == most else f"{shown} of {most[0]} x{most[1]}"


def health(card: Card, now: float) -> str:
    words = list(card.ill) or ([] if card.known else ["unknown"])
    words += [f"differs: {', '.join(card.odd)}"] if card.odd else []
    words += [f"last sample {duration(now - card.at)} ago"] if now - card.at > STALE else []
    return "; ".join(words) or "ok"


def summary(found: Fleet) -> str:
    """`8 GPUs on 2 nodes, 5 in use, 1 not well`. MIG instances count with their GPU."""
    nodes = {card.gpu.node for card in found.cards}
    used = count_gpus(card for card in found.cards if card.owner)
    ill = count_gpus(card for card in found.cards if card.ill)
    words = [f"{count(count_gpus(found.cards), 'GPU')} on {count(len(nodes), 'node')}", f"{used} in use"]
    return ", ".join([*words, f"{ill} not well"] if ill else words)


def count_gpus(cards: Iterable[Card]) -> int:
    return len({(card.gpu.node, card.gpu.uuid or card.gpu.index) for card in cards})
