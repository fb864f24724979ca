"""What is in a snapshot, for whoever is about to hand it on: of each answer whose it is, its size, its first words."""

from collections.abc import Iterator

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.events import count
from gpustack.report.format import Clean, cleaner, cut, place

WORDS = 60
"""Characters of an answer's first words. More is read, so that a secret at the end is known as one."""
READ = 2_000


def text(snapshot: Snapshot) -> str:
    """Sizes in bytes, as they are in the file but for what JSON adds."""
    clean, inventory = cleaner(snapshot.inventory), snapshot.inventory
    order = {host.name: at for at, host in enumerate(inventory.hosts)}
    answers = sorted(snapshot.answers.values(), key=lambda one: (order.get(one.where, len(order)), one.probe))
    rows = [(clean(place(one.where)), one.probe, str(size(one)), words(one, clean)) for one in answers]
    total = f"{count(len(answers), 'answer')} of {count(len(inventory.hosts), 'host')}, {sum(map(size, answers))} bytes"
    return "".join(f"{line}\n" for line in (*table(rows), "", "and the spec and values of the inventory", total))


def table(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    where, probe, bytes_ = (max((len(row[at]) for row in rows), default=0) for at in range(3))
    for row in rows:
        yield f"{row[0]:<{where}}  {row[1]:<{probe}}  {row[2]:>{bytes_}}  {row[3]}".rstrip()


def size(answer: Answer) -> int:
    return sum(len(output.encode(errors="replace")) for output in (answer.out, answer.err, answer.lost))


def words(answer: Answer, clean: Clean) -> str:
    output = answer.lost or answer.out.strip() or answer.err.strip()
    return cut(" ".join(clean(output[:READ]).split()), WORDS)
