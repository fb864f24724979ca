"""The list of the answers in a snapshot, with their hosts, sizes and first words, to read before the snapshot is
given to others."""

from collections.abc import Iterator

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.events import format_count
from gpustack.report.format import Clean, build_cleaner, cut, format_location

WORDS_WIDTH = 60
"""A listing shows so many characters of an answer. More characters are read, so that a secret at the end is
recognized."""
READ_LIMIT = 2_000


def render_listing(snapshot: Snapshot) -> str:
    """Render the list of all answers. Sizes are in bytes of the file, without what JSON adds."""
    clean, inventory = build_cleaner(snapshot.inventory), snapshot.inventory
    order = {host.name: index for index, host in enumerate(inventory.hosts)}
    answers = sorted(snapshot.answers.values(), key=lambda entry: (order.get(entry.location, len(order)), entry.probe))
    rows = [
        (clean(format_location(answer.location)), answer.probe, str(count_bytes(answer)), extract_words(answer, clean))
        for answer in answers
    ]
    hosts, size = format_count(len(inventory.hosts), "host"), sum(map(count_bytes, answers))
    total = f"{format_count(len(answers), 'answer')} of {hosts}, {size} bytes"
    return "".join(f"{line}\n" for line in (*align_rows(rows), "", "and the spec and values of the inventory", total))


def align_rows(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    location_width, probe_width, size_width = (max((len(row[index]) for row in rows), default=0) for index in range(3))
    for row in rows:
        yield f"{row[0]:<{location_width}}  {row[1]:<{probe_width}}  {row[2]:>{size_width}}  {row[3]}".rstrip()


def count_bytes(answer: Answer) -> int:
    return sum(len(output.encode(errors="replace")) for output in (answer.stdout, answer.stderr, answer.missing_reason))


def extract_words(answer: Answer, clean: Clean) -> str:
    output = answer.missing_reason or answer.stdout.strip() or answer.stderr.strip()
    return cut(" ".join(clean(output[:READ_LIMIT]).split()), WORDS_WIDTH)
