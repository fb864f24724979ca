"""Lines over time as SVG, drawn by us: a polyline and a few labels need no library."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup, escape

from gpustack.report.format import duration
from gpustack.report.profile.values import shown

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 190, 64, 8, 8, 24
SLIGHTLY = 1.05  # what shares of a time are measured as, above 1
MOST_POINTS = 380  # of a line: more than that are averaged in pairs, threes, ...


@dataclass(frozen=True)
class Line:
    """`values` are in the base unit, at equal distances from `begin` to `share` of the time; `number` is its colour.
    One without a name is not in the legend."""

    name: str
    values: Sequence[float]
    number: int
    share: float = 1.0
    begin: float = 0.0


@dataclass(frozen=True)
class Plot:
    """`marks` are seconds at which a vertical line stands. `dates` of begin, middle and end stand for the seconds."""

    title: str
    unit: str
    seconds: float
    lines: tuple[Line, ...]
    marks: tuple[float, ...] = ()
    dates: tuple[str, ...] = ()

    @property
    def top(self) -> float:
        """Where the axis ends: 1 for shares, but for a little above it, else over the highest value that is drawn."""
        highest = max((max(thin(line.values), default=0.0) for line in self.lines), default=0.0)
        return 1.0 if self.unit == "ratio" and highest <= SLIGHTLY else highest * 1.1 or 1.0

    @property
    def svg(self) -> Markup:
        parts = [*self.grid(), *(self.mark(at) for at in self.marks), *map(self.draw, self.lines)]
        head = f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
        return Markup("\n".join([head, *parts, "</svg>"]))  # noqa: S704 - numbers, and words that were escaped

    def grid(self) -> list[str]:
        found = []
        for share in (0.0, 0.5, 1.0):
            y = self.y(share * self.top)
            label = escape(shown(share * self.top, self.unit))
            found.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
            found.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        for number, (share, anchor) in enumerate(((0.0, "start"), (0.5, "middle"), (1.0, "end"))):
            passed = duration(share * self.seconds) if share else "0"
            label = escape(self.dates[number] if self.dates else passed)
            found.append(f'<text x="{self.x(share):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{label}</text>')
        return found

    def mark(self, at: float) -> str:
        return f'<path class="mark" d="M{self.x(at / self.seconds):.1f} {TOP}V{HEIGHT - BOTTOM}"/>'

    def draw(self, line: Line) -> str:
        values = thin(line.values)
        last = max(1, len(values) - 1)
        points = " ".join(
            f"{self.x(line.begin + (line.share - line.begin) * at / last):.1f},{self.y(value):.1f}"
            for at, value in enumerate(values)
        )
        return f'<polyline class="line c{line.number}" points="{points}"/>'

    def x(self, share: float) -> float:
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - min(1.0, max(0.0, value / self.top)) * (HEIGHT - TOP - BOTTOM)


def name_days(days: Sequence[str]) -> tuple[str, str, str]:
    """The first, the middle (none of an even number) and the last, as `dates` of lines with one value each."""
    return days[0], days[len(days) // 2] if len(days) % 2 else "", days[-1]


def thin(values: Sequence[float]) -> list[float]:
    """The means of neighbours, so many that a page can draw them."""
    each = -(-len(values) // MOST_POINTS) or 1
    return [fmean(values[at : at + each]) for at in range(0, len(values), each)]
