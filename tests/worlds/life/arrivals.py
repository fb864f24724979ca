"""Pods as they are created: for each pool and kind a Poisson process with growth and the season of day and week."""

import random
from collections.abc import Iterator, Sequence

from tests.worlds.life.clock import DAY, HOUR, draw_poisson, stream
from tests.worlds.life.hardware import Pool
from tests.worlds.life.kinds import KINDS, MIX, Growth, Kind, compute_hour_weight
from tests.worlds.life.pod import Pod
from tests.worlds.life.teams import Team


def draw_pods(
    seed: int, pool: Pool, slots: int, growth: Growth, teams: Sequence[Team], begin: float, start: float, end: float
) -> Iterator[Pod]:
    """`slots` of the pool at the start. In the order of time for each kind; those that run at `begin` come first."""
    weights = [stream(seed, "weights", pool.name, team.name).uniform(0.3, 1.5) for team in teams]
    for name, share in MIX[pool.name].items():
        kind, rng = KINDS[name], stream(seed, "pods", pool.name, name)
        sizes = kind.list_units(pool.gpus if pool.sharing == "none" else 1)
        mean = sum(size * weight for size, weight in sizes) / sum(weight for _, weight in sizes)
        running = share * growth.level * slots / mean
        for moment in draw_arrivals(rng, kind, running, growth, begin, start, end):
            yield draw_pod(rng, kind, pool, sizes, rng.choices(teams, weights)[0], moment, left=moment == begin)


def draw_arrivals(
    rng: random.Random, kind: Kind, running: float, growth: Growth, begin: float, start: float, end: float
) -> Iterator[float]:
    """So many run in the mean, at the start. Gaps are exponential in the time that the rate makes (time rescaling)."""
    yield from [begin] * draw_poisson(rng, running)
    rate, sum_of_rates, due, hour = running / kind.mean * HOUR, 0.0, rng.expovariate(1.0), begin
    while hour < end:
        rate_of_hour = rate * compute_hour_weight(kind, hour) * growth.compute_factor((hour - start) / DAY)
        sum_of_rates += rate_of_hour
        while sum_of_rates >= due:
            yield float(int(hour + HOUR * (1 - (sum_of_rates - due) / rate_of_hour)))
            due += rng.expovariate(1.0)
        hour += HOUR


def draw_pod(
    rng: random.Random,
    kind: Kind,
    pool: Pool,
    sizes: Sequence[tuple[int, float]],
    team: Team,
    moment: float,
    *,
    left: bool = False,
) -> Pod:
    """`left`: it has been running for a while. Its name comes when it is created."""
    seconds = rng.lognormvariate(0, kind.spread) * kind.hours * HOUR * (rng.random() if left else 1)
    units = rng.choices([size for size, _ in sizes], [weight for _, weight in sizes])[0]
    half = units >= 4 and rng.random() < 0.15
    has_label, second = rng.random() < team.labelled_share, kind.name in ("serve", "notebook")
    return Pod(
        namespace=team.namespaces[-1 if second else 0],
        name="",
        uid=f"{rng.getrandbits(64):016x}",
        team=team.name,
        label=team.name_at(moment) if has_label else "",
        kind=kind.name,
        owner_kind=kind.owner,
        owner="",
        pool=pool,
        units=units,
        used_units=0 if kind.name == "sleep" else units // 2 if half else units,
        priority=kind.priority,
        creation=moment,
        pull=float(rng.randint(4, 200)),
        seconds=float(max(60, int(seconds))),
        patience=float(int(rng.lognormvariate(0, 0.5) * kind.patience * HOUR)),
        linger=float(int(rng.random() * kind.linger * HOUR)),
    )


def draw_overlong(seed: int, pools: Sequence[Pool], team: Team, begin: float) -> Pod:
    """A job that was there before the window and runs for longer than a month."""
    rng = stream(seed, "overlong")
    pool = rng.choice([pool for pool in pools if pool.sharing == "none"])
    size = min(rng.choice((1, 2, 4)), pool.gpus)
    pod = draw_pod(rng, KINDS["train"], pool, ((size, 1.0),), team, begin)
    pod.seconds, pod.priority, pod.patience = float(rng.randint(35 * DAY, 75 * DAY)), 100, 90.0 * DAY
    pod.used_units = pod.units
    return pod
