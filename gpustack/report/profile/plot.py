"""Lines over time as SVG. A polyline and a few labels need no library."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10
from statistics import fmean

from markupsafe import Markup, escape

from gpustack.times import format_duration
from gpustack.vocabulary.amounts import UNIT_FORMATS, format_value

WIDTH, HEIGHT, RIGHT, TOP, BOTTOM = 760, 190, 8, 8, 24
DIGIT = 7.0  # width of a digit of 11 px in DejaVu Sans, a wide font
SHARES = (0.0, 0.5, 1.0)  # of the axis, each with a label
ROUND_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
RATIO_TOLERANCE = 1.05  # the highest value of a measured share
MAX_POINTS = 380  # of a line: more of them are averaged in groups


@dataclass(frozen=True)
class Line:
    """Hold a line of a plot. `values` are in the base unit, at equal distances from `begin` to `share` of the time;
    `number` is its colour. A line without a name is not in the legend."""

    name: str
    values: Sequence[float]
    number: int
    share: float = 1.0
    begin: float = 0.0


@dataclass(frozen=True)
class Plot:
    """Draw a plot as SVG. `marks` are seconds at which a vertical line stands. `dates` of begin, middle and end
    replace the seconds as labels."""

    title: str
    unit: str
    seconds: float
    lines: tuple[Line, ...]
    marks: tuple[float, ...] = ()
    dates: tuple[str, ...] = ()

    @cached_property
    def top(self) -> float:
        """The axis ends at 1 for shares, also where a value is a little above it, else at a round number above the
        highest value."""
        highest = max((max(resample_values(line.values), default=0.0) for line in self.lines), default=0.0)
        if self.unit == "ratio" and highest <= RATIO_TOLERANCE:
            return 1.0
        return round_up(highest, UNIT_FORMATS[self.unit][0])

    @cached_property
    def left_edge(self) -> float:
        """The axis begins beside its longest label."""
        return 12 + DIGIT * max(len(format_value(share * self.top, self.unit)) for share in SHARES)

    @property
    def svg(self) -> Markup:
        parts = [
            *self.draw_grid(),
            *(self.draw_mark(seconds) for seconds in self.marks),
            *map(self.draw_line, self.lines),
        ]
        head = f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
        return Markup("\n".join([head, *parts, "</svg>"]))  # noqa: S704 - numbers, and words that were escaped

    def draw_grid(self) -> list[str]:
        parts = []
        for share in SHARES:
            y = self.scale_y(share * self.top)
            label = escape(format_value(share * self.top, self.unit))
            parts.append(f'<path class="grid" d="M{self.left_edge:.0f} {y:.1f}H{WIDTH - RIGHT}"/>')
            parts.append(f'<text x="{self.left_edge - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        for number, (share, anchor) in enumerate(((0.0, "start"), (0.5, "middle"), (1.0, "end"))):
            duration = format_duration(share * self.seconds) if share else "0"
            label = escape(self.dates[number] if self.dates else duration)
            parts.append(f'<text x="{self.scale_x(share):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{label}</text>')
        return parts

    def draw_mark(self, seconds: float) -> str:
        return f'<path class="mark" d="M{self.scale_x(seconds / self.seconds):.1f} {TOP}V{HEIGHT - BOTTOM}"/>'

    def draw_line(self, line: Line) -> str:
        values = resample_values(line.values)
        last = max(1, len(values) - 1)
        points = " ".join(
            f"{self.scale_x(line.begin + (line.share - line.begin) * index / last):.1f},{self.scale_y(value):.1f}"
            for index, value in enumerate(values)
        )
        return f'<polyline class="line c{line.number}" points="{points}"/>'

    def scale_x(self, share: float) -> float:
        return self.left_edge + share * (WIDTH - self.left_edge - RIGHT)

    def scale_y(self, value: float) -> float:
        return HEIGHT - BOTTOM - min(1.0, max(0.0, value / self.top)) * (HEIGHT - TOP - BOTTOM)


def round_up(value: float, scale: float) -> float:
    """Round a value up to the next round multiple of a power of ten, in units of `scale`."""
    if value <= 0:
        return scale
    power = 10.0 ** floor(log10(value / scale))
    return next(step for step in ROUND_STEPS if step * power * scale >= value * (1 - 1e-9)) * power * scale


def name_days(days: Sequence[str]) -> tuple[str, str, str]:
    """Return the first, the middle and the last day as labels of lines with one value per day. The middle label is
    empty for an even number of days."""
    return days[0], days[len(days) // 2] if len(days) % 2 else "", days[-1]


def resample_values(values: Sequence[float]) -> list[float]:
    """Average neighbouring values until a page can draw all of them."""
    group_size = -(-len(values) // MAX_POINTS) or 1
    return [fmean(values[start : start + group_size]) for start in range(0, len(values), group_size)]
