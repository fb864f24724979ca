"""Samples of a target as Prometheus has them: runs of equal samples, a step apart, and stale markers at their ends."""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.worlds.life.targets import Target, Window, find_window

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
"""model/value/value.go of Prometheus: StaleNaN."""
Pieces = Sequence[tuple[float, float, float]]
"""Begin, end, value; in the order of time, without overlaps. Between them there is no such series."""


@dataclass
class Track:
    """Hold one series. `runs`: first time, number of samples, value. `stale`: times of its stale markers."""

    labels: Mapping[str, str]
    step: int
    runs: list[tuple[float, int, float]] = field(default_factory=list)
    stale: list[float] = field(default_factory=list)

    def select_points(self, first: float = 0.0, last: float = float("inf")) -> tuple[tuple[float, float], ...]:
        """Samples of a time, both ends included, as a range selector has them: without stale markers."""
        times = ((first + number * self.step, value) for first, count, value in self.runs for number in range(count))
        return tuple((time, value) for time, value in times if first <= time <= last)


class Sampler:
    """Scrapes of one target."""

    def __init__(self, target: Target, start: float, end: float, step: int) -> None:
        self.target, self.start, self.step = target, start, step
        self.windows = target.list_windows(start, end, step)

    def time(self, number: int) -> float:
        return self.start + self.target.phase + number * self.step

    def build_tracks(self, labels: Mapping[str, str], pieces: Pieces) -> Iterator[Track]:
        """A series for each pod that the target had, with the labels that target gives it; those given count more."""
        numbered_pieces = [(self.number(begin), self.number(end), value) for begin, end, value in pieces]
        numbered_pieces = [piece for piece in numbered_pieces if piece[0] < piece[1]]
        if not numbered_pieces:
            return
        place, tracks = find_window(self.windows, numbered_pieces[0][0]), dict[int, Track]()
        while place < len(self.windows) and self.windows[place].first < numbered_pieces[-1][1]:
            window = self.windows[place]
            track = tracks.setdefault(id(window.labels), Track({**window.labels, **labels}, self.step))
            self.fill(track, window, numbered_pieces)
            place += 1
        yield from (track for track in tracks.values() if track.runs)

    def number(self, moment: float) -> int:
        """A scrape sees what was `lag` seconds before."""
        return self.target.number(min(moment, 1e11) + self.target.lag, self.start, self.step)

    def fill(self, track: Track, window: Window, pieces: Sequence[tuple[int, int, float]]) -> None:
        for place, (begin, end, value) in enumerate(pieces):
            first, last = max(begin, window.first), min(end, window.last)
            if first >= last:
                continue
            track.runs.append((self.time(first), last - first, value))
            follows = place + 1 < len(pieces) and pieces[place + 1][0] == last
            if (last < window.last and not follows) or (last == window.last and window.stale):
                track.stale.append(self.time(last))


def join_tracks(tracks: Iterable[Track]) -> Iterator[Track]:
    """Join the tracks of each set of labels, in the order of time."""
    tracks_by_labels: dict[tuple[tuple[str, str], ...], Track] = {}
    for track in tracks:
        key = tuple(sorted(track.labels.items()))
        if key in tracks_by_labels:
            tracks_by_labels[key].runs += track.runs
            tracks_by_labels[key].stale += track.stale
        else:
            tracks_by_labels[key] = track
    for track in tracks_by_labels.values():
        track.runs.sort()
        begins = {first for first, _, _ in track.runs}
        track.stale = sorted(moment for moment in track.stale if moment not in begins)
        yield track
