"""Windows of a workload from an exporter, which is scraped at its own pace."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from gpustack.errors import MissingDataError
from gpustack.metrics.exposition import Family
from gpustack.metrics.gpus import extract_gpu
from gpustack.metrics.prometheus import Series
from gpustack.profile.selection import Selection
from gpustack.profile.window import Job
from gpustack.profile.windows import NAMES, build_windows
from gpustack.vocabulary.fields import list_spellings

SHORTEST_PAUSE = 1.0  # seconds; dcgm-exporter collects every 30 s unless its option -c says otherwise
PACE_DISTANCES = 4  # distances between new values, from which the pace of the exporter is known

Key = tuple[tuple[str, str], ...]


def read_wall_clock() -> float:
    """Return the seconds since 1970, for people who read the file: no decision depends on them."""
    return time.time()


@dataclass
class Scrapes:
    """Collect the samples of the selected GPUs. `moments` are seconds of a steady clock, `fresh` those at which a value
    was new."""

    selection: Selection
    values: dict[Key, list[tuple[float, float]]] = field(default_factory=dict)
    helps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    moments: list[float] = field(default_factory=list)
    fresh: list[float] = field(default_factory=list)

    def add(self, families: Sequence[Family], moment: float) -> None:
        metric_names, has_new = set(list_spellings(NAMES)), False
        for family in families:
            if family.name not in metric_names:
                continue
            self.helps[family.name] = (family.help,)
            for series in family.series:
                gpu = extract_gpu(series.labels)
                if gpu is None or not self.selection.matches_gpu(gpu, series.labels):
                    continue
                points = self.values.setdefault(tuple(sorted(series.labels.items())), [])
                reading = series.points[-1][1]
                has_new = has_new or not points or points[-1][1] != reading
                points.append((moment, reading))
        self.moments.append(moment)
        self.fresh += [moment] if has_new else []

    @property
    def pause(self) -> float:
        """Return the seconds until the next scrape: half of the distance of new values, so that none is missed."""
        distances = [after - before for before, after in pairwise(self.fresh)]
        return max(SHORTEST_PAUSE, median(distances) / 2) if len(distances) >= PACE_DISTANCES else SHORTEST_PAUSE

    def build_job(self, url: str) -> Job:
        """Build the windows. Raise MissingDataError where the exporter printed nothing of such GPUs."""
        seconds = self.moments[-1] - self.moments[0] if len(self.moments) > 1 else SHORTEST_PAUSE
        series = [Series(dict(key), tuple(points)) for key, points in self.values.items()]
        windows = tuple(build_windows(series, self.selection, seconds, self.helps))
        if not windows:
            message, reason = f"{url} printed nothing of such GPUs.", "They are another node's, or the name is another."
            raise MissingDataError("profile-nothing", message, reason)
        return Job(windows)
