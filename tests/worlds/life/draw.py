"""`draw(seed)`: one life, the same for the same seed, of which more days change nothing before them."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.worlds.life import blocks
from tests.worlds.life.arrivals import draw_overlong, draw_pods
from tests.worlds.life.clock import DAY, START, stream
from tests.worlds.life.hardware import Node, Pool, draw_nodes, draw_pools
from tests.worlds.life.kinds import Growth, draw_growth
from tests.worlds.life.pod import Pod
from tests.worlds.life.samples import Track
from tests.worlds.life.scheduler import Scheduler
from tests.worlds.life.scraped import scrape
from tests.worlds.life.targets import Scrapes, draw_scrapes
from tests.worlds.life.teams import Team, draw_teams
from tests.worlds.life.truth import Truth

PAST_SECONDS = 3 * DAY
"""Pods that run at the start were created before it."""


@dataclass(frozen=True, repr=False)
class Life:
    seed: int
    start: float
    pools: Sequence[Pool]
    nodes: Sequence[Node]
    teams: Sequence[Team]
    growth: dict[str, Growth]
    overlong: Pod
    scrapes: Scrapes
    truth: Truth

    def build_series(self, step: int = 60, names: Container[str] | None = None) -> Iterator[Track]:
        """Build what a Prometheus has that scrapes these metrics, or all, every `step` seconds."""
        return scrape(self.truth, self.teams, self.scrapes, step, names)

    def write_blocks(self, program: Path, folder: Path, step: int = 60, names: Container[str] | None = None) -> None:
        """The same as blocks of a real Prometheus, by the program of blocks.build."""
        blocks.write(program, folder, self.build_series(step, names), self.truth.days)


def draw(seed: int, days: int = 60, future_days: int = 0, *, start: float = START, small: bool = False) -> Life:
    """`days` are what a Prometheus has of it; the truth goes on for `future_days`, for forecasts. `start` is a
    midnight, UTC. `small`: about a dozen GPUs, for samples that are written out."""
    end, begin = start + (days + future_days) * DAY, start - PAST_SECONDS
    pools = draw_pools(seed, small=small)
    nodes = [node for pool, count in pools for node in draw_nodes(seed, pool, count, begin, start, end)]
    teams = draw_teams(seed, start)
    growth = {pool.name: draw_growth(stream(seed, "growth", pool.name)) for pool, _ in pools}
    overlong = draw_overlong(seed, [pool for pool, _ in pools], teams[-1], begin)
    arrivals = [overlong]
    for pool, count in pools:
        arrivals += draw_pods(seed, pool, pool.slots * count, growth[pool.name], teams, begin, start, end)
    arrivals.sort(key=lambda pod: pod.creation)
    pods = Scheduler(seed, nodes).run(arrivals, end)
    virtual = stream(seed, "exporter").random() < 0.3
    truth = Truth(seed, start, days, end, [pool for pool, _ in pools], nodes, pods, virtual)
    return Life(seed, start, truth.pools, nodes, teams, growth, overlong, draw_scrapes(seed, nodes, start, end), truth)
