"""The fleet as a table for people."""

from collections.abc import Iterable, Iterator

from gpustack.events import format_count
from gpustack.gpus.activity import GpuActivity
from gpustack.gpus.fleet import Card, Fleet
from gpustack.metrics.gpus import Gpu
from gpustack.report.basis import list_legend, mark_number
from gpustack.report.format import format_locations
from gpustack.report.hanging import Row, print_notes, print_rows
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration

GIB = 2**30
HEADINGS = ("NODE", "GPU", "MODEL", "MEMORY", "PCIE", "ECC", "DRIVER", "USED BY", "HEALTH")
UNKNOWN = "-"
VENDOR = "NVIDIA "
STALE_SECONDS = 60  # The age of a younger value is not shown.


def render_human(console: Terminal, fleet: Fleet) -> None:
    rows = [format_cells(card, fleet.time) for card in fleet.cards]
    console.print(draw_table(console, HEADINGS, rows))
    print_rows(console, map(Row, list_legend(HEADINGS, rows)))
    console.print(f"\n{format_summary(fleet)}")
    print_notes(console, [*list_unknown_users(fleet.cards), *fleet.doubts])


def format_index(gpu: Gpu) -> str:
    """Format the index of a GPU as `3`, and of a MIG instance as `3:1`."""
    return f"{gpu.index}:{gpu.instance}" if gpu.instance else gpu.index


def format_cells(card: Card, current_time: float) -> tuple[str, ...]:
    return (
        card.gpu.node,
        format_index(card.gpu),
        " ".join(filter(None, (card.gpu.model.removeprefix(VENDOR), card.gpu.profile))) or UNKNOWN,
        f"{mark_number(f'{card.memory / GIB:.0f}', card.basis.get('memory'))} GiB" if card.memory else UNKNOWN,
        format_link(card),
        {None: UNKNOWN, True: "on", False: "off"}[card.ecc],
        card.gpu.driver or UNKNOWN,
        format_user(card),
        describe_health(card, current_time),
    )


def format_user(entry: Card | GpuActivity) -> str:
    """Format the paths of the pods that have a GPU, each once, or say whether it is free."""
    paths = ", ".join(dict.fromkeys(owner.path for owner in entry.owners))
    return paths or ("free" if entry.in_use is False else UNKNOWN)


def list_unknown_users(entries: Iterable[Card | GpuActivity]) -> Iterator[str]:
    nodes = sorted({entry.gpu.node for entry in entries if entry.in_use is None})
    if nodes:
        yield (
            f"no GPU of {format_locations(nodes)} has a pod: the exporter may not ask the kubelet, and only an "
            "idle GPU counts as free there"
        )


def format_link(card: Card) -> str:
    """Format the PCIe link as `Gen5 x16`, or as `Gen3/5 x8/16` where it could do more. An idle link may run slower, so
    only fewer lanes are a defect."""
    current_link, best_link = (card.generation, card.width), (card.most_generation, card.most_width)
    if None in current_link:
        return UNKNOWN
    parts = [
        f"{prefix}{current}" + (f"/{best}" if best not in (None, current) else "")
        for prefix, current, best in zip(("Gen", "x"), current_link, best_link, strict=True)
    ]
    return mark_number(" ".join(parts), card.basis.get("width") or card.basis.get("most_width"))


def describe_health(card: Card, current_time: float) -> str:
    words = list(card.ill) or ([] if card.known else ["unknown"])
    words += [f"differs: {', '.join(card.odd)}"] if card.odd else []
    words += (
        [f"last sample {format_duration(current_time - card.time)} ago"]
        if current_time - card.time > STALE_SECONDS
        else []
    )
    return "; ".join(words) or "ok"


def format_summary(fleet: Fleet) -> str:
    """Format the counts of the fleet: `8 GPUs on 2 nodes, 5 in use, 1 not well`. MIG instances count with their GPU."""
    nodes = {card.gpu.node for card in fleet.cards}
    used_count = count_gpus(card for card in fleet.cards if card.owner)
    ill_count = count_gpus(card for card in fleet.cards if card.ill)
    words = [
        f"{format_count(count_gpus(fleet.cards), 'GPU')} on {format_count(len(nodes), 'node')}",
        f"{used_count} in use",
    ]
    return ", ".join([*words, f"{ill_count} not well"] if ill_count else words)


def count_gpus(cards: Iterable[Card]) -> int:
    return len({(card.gpu.node, card.gpu.uuid or card.gpu.index) for card in cards})
