"""Lines over time as SVG, drawn by us: a polyline and a few labels need no library."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10
from statistics import fmean

from markupsafe import Markup, escape

from gpustack.report.format import duration
from gpustack.report.profile.values import SHOWN, shown

WIDTH, HEIGHT, RIGHT, TOP, BOTTOM = 760, 190, 8, 8, 24
DIGIT = 7.0  # width of a digit of 11 px in DejaVu Sans, a wide font
SHARES = (0.0, 0.5, 1.0)  # of the axis, with a label
ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
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

    @cached_property
    def top(self) -> float:
        """Where the axis ends: 1 for shares, but for a little above it, else at a round number over the highest value
        that is drawn."""
        highest = max((max(thin(line.values), default=0.0) for line in self.lines), default=0.0)
        return 1.0 if self.unit == "ratio" and highest <= SLIGHTLY else round_up(highest, SHOWN[self.unit][0])

    @cached_property
    def left(self) -> float:
        """Where the axis begins: beside its longest label."""
        return 12 + DIGIT * max(len(shown(share * self.top, self.unit)) for share in SHARES)

    @property
    def svg(self) -> Markup:
        parts = [*self.grid(), *(self.mark(at) for at in self.marks), *map(self.draw, self.lines)]
        head = f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
        return Markup("\n".join([head, *parts, "</svg>"]))  # noqa: S704 - numbers, and words that were escaped

    def grid(self) -> list[str]:
        found = []
        for share in SHARES:
            y = self.y(share * self.top)
            label = escape(shown(share * self.top, self.unit))
            found.append(f'<path class="grid" d="M{self.left:.0f} {y:.1f}H{WIDTH - RIGHT}"/>')
            found.append(f'<text x="{self.left - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
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
        return self.left + share * (WIDTH - self.left - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - min(1.0, max(0.0, value / self.top)) * (HEIGHT - TOP - BOTTOM)


def round_up(value: float, scale: float) -> float:
    """The next round number of what `scale` is one of."""
    if value <= 0:
        return scale
    power = 10.0 ** floor(log10(value / scale))
    return next(step for step in ROUND if step * power * scale >= value * (1 - 1e-9)) * power * scale


def name_days(days: Sequence[str]) -> tuple[str, str, str]:
    """The first, the middle (none of an even number) and the last, as `dates` of lines with one value each."""
    return days[0], days[len(days) // 2] if len(days) % 2 else "", days[-1]


def thin(values: Sequence[float]) -> list[float]:
    """The means of neighbours, so many that a page can draw them."""
    each = -(-len(values) // MOST_POINTS) or 1
    return [fmean(values[at : at + each]) for at in range(0, len(values), each)]
