"""What a GPU costs for an hour: by model, pool and day."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal

from gpustack.capacity.usage import Hours, Key
from gpustack.command import Prose
from gpustack.config.sections.usage import Cost, Price
from gpustack.errors import ConfigError

SHOWN = 8
HINT = Prose("group_vars/all/gpustack.yml: cost.prices")


def plain(model: str) -> str:
    """DCGM's `NVIDIA H100 80GB HBM3`, a node label's `NVIDIA-H100-80GB-HBM3` and `H100 80GB HBM3` are one."""
    return model.replace("-", " ").casefold().removeprefix("nvidia ").strip()


def find_price(prices: Iterable[Price], model: str, pool: str, day: str) -> Decimal | None:
    """Of the last that fits; None where none does. Of a node with several models, only one for all models fits."""
    found = None
    for one in prices:
        fits = (not one.model or plain(one.model) == plain(model)) and (not one.pool or one.pool == pool)
        if fits and (one.begin is None or one.begin <= date.fromisoformat(day)):
            found = one.per_gpu_hour
    return found


def require_prices(cost: Cost) -> None:
    """Raises ConfigError where there are none."""
    if not cost.prices:
        why = "A price is of a GPU for an hour, by model, pool and first day; there is no default."
        raise ConfigError("cost-no-prices", "The spec has no prices.", why, HINT)


def price_hours(cost: Cost, hours: Mapping[Key, Hours]) -> dict[Key, Decimal]:
    """Per GPU-hour, of all that have hours. Raises ConfigError for what has no price: nothing is left out of a bill,
    and nothing is free because nobody said what it costs."""
    require_prices(cost)
    known: dict[tuple[str, str, str], Decimal | None] = {}
    found: dict[Key, Decimal] = {}
    for key in hours:
        what = key.model, key.pool, key.day
        if what not in known:
            known[what] = find_price(cost.prices, *what)
        price = known[what]
        if price is not None:
            found[key] = price
    missing = {what for what, price in known.items() if price is None}
    lacking = sorted({key[:4] for key, one in hours.items() if one.total and (key.model, key.pool, key.day) in missing})
    if lacking:
        raise ConfigError("cost-no-price", "Some GPUs have no price.", "\n".join(describe(lacking)), HINT)
    return found


def describe(lacking: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A line for each model and pool."""
    days: dict[tuple[str, str], list[str]] = {}
    nodes: dict[tuple[str, str], set[str]] = {}
    for day, pool, node, model in lacking:
        days.setdefault((model, pool), []).append(day)
        nodes.setdefault((model, pool), set()).add(node)
    for (model, pool), found in sorted(days.items()):
        where = f" of pool {pool}" if pool else ""
        names = sorted(nodes[model, pool])
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        yield f"{model or 'an unknown model'}{where}, {min(found)} to {max(found)}: {', '.join(names[:SHOWN])}{more}"
