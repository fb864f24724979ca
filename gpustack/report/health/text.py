"""The health of GPUs as a table for people: a row for each GPU and node that is not ok."""

from collections import Counter
from collections.abc import Iterator

from gpustack.events import format_count
from gpustack.health.fleet import Health
from gpustack.health.judge import GpuHealth
from gpustack.health.sign import MEANINGS, VERDICTS
from gpustack.report.format import format_locations
from gpustack.report.gpus.text import UNKNOWN, VENDOR
from gpustack.report.hanging import Row, print_notes, print_rows
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal

HEADINGS = ("NODE", "GPU", "MODEL", "USED BY", "VERDICT", "WHY")


def render_human(console: Terminal, health: Health) -> None:
    rows = [*list_gpu_rows(health), *list_node_rows(health)]
    if rows:
        console.print(draw_table(console, HEADINGS, sorted(rows, key=lambda row: row[0])))
        console.print("")
    verdicts = {row[HEADINGS.index("VERDICT")] for row in rows}
    print_rows(console, (Row(MEANINGS[name], f"{name}: ") for name in VERDICTS if name in verdicts))
    for incident in health.incidents:
        cause = "a job or the fabric is the likely cause, and no GPU of them"
        nodes = format_locations(incident.nodes)
        print_rows(console, [Row(f"Xid {incident.xid} on {nodes} within five minutes: {cause}", "incident: ")])
    console.print(format_summary(health))
    print_notes(console, health.doubts)


def list_gpu_rows(health: Health) -> Iterator[tuple[str, ...]]:
    for entry in health.gpus:
        if entry.verdict != "ok":
            owners = ", ".join(dict.fromkeys(owner.path for owner in entry.owners)) or UNKNOWN
            model = entry.gpu.model.removeprefix(VENDOR) or UNKNOWN
            index = entry.gpu.index or entry.gpu.uuid or UNKNOWN
            yield entry.gpu.node, index, model, owners, entry.verdict, describe_reasons(entry)


def list_node_rows(health: Health) -> Iterator[tuple[str, ...]]:
    for node in health.nodes:
        if node.reasons:
            yield node.node, UNKNOWN, UNKNOWN, UNKNOWN, node.verdict, "; ".join(node.reasons)


def describe_reasons(entry: GpuHealth) -> str:
    return "; ".join(filter(None, [*dict.fromkeys(sign.message for sign in entry.signs), entry.reason]))


def format_summary(health: Health) -> str:
    """Format the counts by verdict: `8 GPUs on 2 nodes: 7 ok, 1 reset`."""
    counts = Counter(entry.verdict for entry in health.gpus)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    nodes = {*(entry.gpu.node for entry in health.gpus), *(entry.node for entry in health.nodes)}
    total = f"{format_count(len(health.gpus), 'GPU')} on {format_count(len(nodes), 'node')}"
    return f"{total}: {words}" if words else total
