"""A table of what was tried and seen: a row is added for each case that was played."""

import os
from dataclasses import astuple, dataclass
from pathlib import Path

HEAD = "| case | fault | step | what was seen | the next install | seconds |\n|---|---|---|---|---|---:|\n"


@dataclass(frozen=True)
class Row:
    """`seconds` are those of the next install; `then` what it did."""

    case: str
    fault: str
    step: str
    observation: str
    outcome: str
    seconds: float


def write(row: Row) -> None:
    """Write a row to the file that INTERRUPT_WRITE names; without it nothing is written."""
    if "INTERRUPT_WRITE" not in os.environ:
        return
    file = Path(os.environ["INTERRUPT_WRITE"])
    *words, seconds = astuple(row)
    cells = (*(word.replace("|", "\\|").replace("\n", " ") for word in words), f"{seconds:.0f}")
    before = file.read_text() if file.exists() else HEAD
    file.write_text(f"{before}| {' | '.join(cells)} |\n")
