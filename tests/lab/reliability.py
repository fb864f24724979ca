"""Writes what was tried and seen into docs/reliability.md, between its two marks; what a run did not try stays."""

from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- interruptions: written by tests/lab/test_interruptions.py -->", "<!-- end of interruptions -->"
HEAD = ("case", "fault", "step", "what was seen", "the next install", "seconds")


@dataclass(frozen=True)
class Row:
    """`seconds` are those of the next install; `then` what it did."""

    case: str
    fault: str
    step: str
    seen: str
    then: str
    seconds: float

    def cells(self) -> tuple[str, ...]:
        return (self.case, self.fault, self.step, self.seen, self.then, f"{self.seconds:.0f}")


def write(rows: list[Row], order: list[str], seed: str, page: Path = PAGE) -> None:
    """Rows of cases in the order of the table; of a case that was tried before, the newer row."""
    before, _, rest = page.read_text().partition(BEGIN)
    inside, _, after = rest.partition(END)
    lines = [line for line in inside.splitlines() if line.startswith("| ") and not line.startswith(f"| {HEAD[0]} ")]
    known = {line.split("|")[1].strip(): line for line in lines}
    known |= {row.case: table(row.cells()) for row in rows}
    kept = [known[case] for case in order if case in known]
    ruler = "|" + "---|" * (len(HEAD) - 1) + "---:|"
    text = "\n".join([f"Seed {seed}; {len(kept)} interruptions.", "", table(HEAD), ruler, *kept])
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def table(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
