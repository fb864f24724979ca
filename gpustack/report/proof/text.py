"""A proof for people: GPU by GPU which link of the chain holds, and why one does not."""

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from gpustack.command import NO_HINT, Hint
from gpustack.config.inventory import Inventory
from gpustack.events import count
from gpustack.proof.chain import LINKS, Outcome, Row
from gpustack.proof.prove import Proof
from gpustack.report.codes import proof_code
from gpustack.report.findings import field, say
from gpustack.report.format import duration, places
from gpustack.report.human import following
from gpustack.report.terminal import Terminal
from gpustack.rollout.next import build_command

MARKS: dict[Outcome, str] = {"ok": "✓", "failed": "✗", "unknown": "unknown", "skipped": "in use"}
PLAIN: dict[Outcome, str] = {**MARKS, "ok": "yes", "failed": "NO"}
STYLES: dict[Outcome, str] = {"ok": "green", "failed": "red", "unknown": "yellow", "skipped": "dim"}
WIDTH = 11
INDENT = 11
"""Of the reasons: behind the name of their link."""


def proof(console: Terminal, done: Proof, inventory: Inventory, evidence: str = "") -> None:
    console.hide(inventory)
    code = proof_code(done)
    if done.swept:
        say(console, f"{count(done.swept, 'pod')} of an interrupted earlier proof were removed", "dim")
    for node, rows in groupby(done.rows, key=lambda row: row.node):
        of_node(console, node, list(rows))
    reasons(console, done)
    for host, why in done.unasked:
        field(console, "not asked", f"{host}: {why}", INDENT, label="yellow")
    if done.stopped:
        say(console, f"\nstopped: {done.stopped}", "red")
    if done.left:
        say(console, f"\nleft behind: {done.left}", "red")
    say(console, f"\n{standing(done)}", "" if code else "green")
    if done.parts:
        say(console, f"{duration(done.seconds)}: {', '.join(f'{part} {duration(took)}' for part, took in done.parts)}")
    if code and evidence:
        say(console, f"evidence: {evidence}")
    following(console, after_proof(done, inventory, code))


def of_node(console: Terminal, node: str, rows: Sequence[Row]) -> None:
    models = list(dict.fromkeys(row.model for row in rows if row.model))
    say(console, f"\n{node}  {', '.join(models)}".rstrip(), "bold")
    marks = MARKS if console.encoding.lower().startswith("utf") else PLAIN
    heads = "".join(f"{name:<{WIDTH}}" for name in LINKS)
    console.print(Text(f"  {'gpu':<5}{'uuid':<42}{heads}".rstrip(), style="dim"), soft_wrap=True)
    for row in rows:
        cells = [(f"{marks[link.outcome]:<{WIDTH}}", STYLES[link.outcome]) for _, link in row.links]
        index, uuid = console.clean(row.index or row.bus) or "-", console.clean(row.uuid) or "unknown"
        line = Text.assemble(f"  {index:<5}{uuid:<42}", *cells)
        line.rstrip()
        console.print(line, soft_wrap=True)


def reasons(console: Terminal, done: Proof) -> None:
    """Each once, with the GPUs that it is of."""
    folded: dict[tuple[str, str, Outcome], list[str]] = {}
    for row in done.rows:
        for name, link in row.links if row.uuid else row.links[:1]:  # what nobody named was not looked for
            if text := link.why or link.note:
                folded.setdefault((name, text, link.outcome), []).append(called(row))
    if folded:
        console.print()
    for (name, text, outcome), gpus in folded.items():
        label = STYLES[outcome] if outcome != "ok" else "dim"
        field(console, name, f"{places(gpus)}: {text}", INDENT, label=label)


def called(row: Row) -> str:
    return f"{row.node} {row.index or row.bus}".rstrip()


def standing(done: Proof) -> str:
    """In one line."""
    if not done.rows:
        if done.unasked:
            return "no GPU was found, and not all hosts could be asked"
        return f"no GPU: nothing to prove (0 NVIDIA devices on {count(done.hosts, 'host')}, 0 offered by nodes)"
    kinds = [kind(row) for row in done.rows]
    total = f"{count(len(done.rows), 'GPU')} on {count(len({row.node for row in done.rows}), 'node')}"
    if set(kinds) == {"ok"}:
        return f"{total}: all proven"
    words = {"ok": "proven", "failed": "failed", "unknown": "unknown", "skipped": "in use and left alone"}
    return f"{total}: {', '.join(f'{kinds.count(one)} {word}' for one, word in words.items() if one in kinds)}"


def kind(row: Row) -> Outcome:
    """Of a GPU: what is worst of its links."""
    found = {link.outcome for _, link in row.links}
    return next(one for one in ("failed", "unknown", "skipped", "ok") if one in found)


def after_proof(done: Proof, inventory: Inventory, code: int) -> Hint:
    """The steps' own checks know more of why a link does not hold; a proof of all is seen best in Grafana."""
    if done.stopped:
        return build_command(inventory, "prove")
    if code:
        return build_command(inventory, "verify")
    return build_command(inventory, "access", "grafana") if done.rows else NO_HINT
