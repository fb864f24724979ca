"""Prices of a GPU for an hour, by model, pool and day."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal

from gpustack.capacity.usage import Hours, Key
from gpustack.config.sections.usage import Cost, Price
from gpustack.errors import ConfigError

MAX_NODES = 8


def normalize_model(model: str) -> str:
    """Normalize the name of a model, so that DCGM's `NVIDIA H100 80GB HBM3`, the node label's
    `NVIDIA-H100-80GB-HBM3` and `H100 80GB HBM3` are equal."""
    return model.replace("-", " ").casefold().removeprefix("nvidia ").strip()


def find_price(prices: Iterable[Price], model: str, pool: str, day: str) -> Decimal | None:
    """Find the last price that fits; None where none does. A node with several models fits only a price for all
    models."""
    price = None
    for entry in prices:
        fits = (not entry.model or normalize_model(entry.model) == normalize_model(model)) and (
            not entry.pool or entry.pool == pool
        )
        if fits and (entry.begin is None or entry.begin <= date.fromisoformat(day)):
            price = entry.per_gpu_hour
    return price


def require_prices(cost: Cost) -> None:
    """Raise ConfigError where the spec has no prices."""
    if not cost.prices:
        reason = "A price is of a GPU for an hour, by model, pool and first day; there is no default."
        raise ConfigError("cost-no-prices", "The spec has no prices.", reason)


def find_prices(cost: Cost, hours: Mapping[Key, Hours]) -> dict[Key, Decimal]:
    """Find the price of a GPU-hour for all keys with hours. Raise ConfigError where a price is missing, since a bill
    must leave nothing out."""
    require_prices(cost)
    price_cache: dict[tuple[str, str, str], Decimal | None] = {}
    prices: dict[Key, Decimal] = {}
    for key in hours:
        price_key = key.model, key.pool, key.day
        if price_key not in price_cache:
            price_cache[price_key] = find_price(cost.prices, *price_key)
        price = price_cache[price_key]
        if price is not None:
            prices[key] = price
    unpriced_keys = {missing_key for missing_key, price in price_cache.items() if price is None}
    missing_keys = sorted(
        {
            key[:4]
            for key, usage_hours in hours.items()
            if usage_hours.total and (key.model, key.pool, key.day) in unpriced_keys
        }
    )
    if missing_keys:
        raise ConfigError("cost-no-price", "Some GPUs have no price.", "\n".join(describe_missing_prices(missing_keys)))
    return prices


def describe_missing_prices(missing_keys: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Describe each model and pool without a price in one line."""
    days: dict[tuple[str, str], list[str]] = {}
    nodes: dict[tuple[str, str], set[str]] = {}
    for day, pool, node, model in missing_keys:
        days.setdefault((model, pool), []).append(day)
        nodes.setdefault((model, pool), set()).add(node)
    for (model, pool), price_days in sorted(days.items()):
        pool_suffix = f" of pool {pool}" if pool else ""
        names = sorted(nodes[model, pool])
        remainder = f" and {len(names) - MAX_NODES} more" if len(names) > MAX_NODES else ""
        node_list = f"{', '.join(names[:MAX_NODES])}{remainder}"
        yield f"{model or 'an unknown model'}{pool_suffix}, {min(price_days)} to {max(price_days)}: {node_list}"
