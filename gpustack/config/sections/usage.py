"""Sections of the cluster spec about the users of GPUs, and the cost of their use."""

from collections import Counter
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import Field, model_validator

from gpustack.config.form import Form
from gpustack.config.sections.section import Section

Money = Annotated[Decimal, Field(ge=0, max_digits=18, decimal_places=6)]
Currency = Annotated[str, Form(r"([A-Z]{3})?", "three capital letters of ISO 4217", "EUR")]
Label = Annotated[
    str,
    Form(r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(/[A-Za-z0-9._-]+)?)?", "the key of a label", "example.com/team"),
]


class Capacity(Section):
    team_label: Annotated[
        Label, Field(min_length=1, description="label of pods, or else of their namespaces, that names a team")
    ] = "team"
    pool_label: Annotated[
        Label, Field(description="label of nodes that names a pool, such as example.com/pool; default: no pools")
    ] = ""
    renamed: Annotated[
        Mapping[str, str], Field(description="teams that have another name now, as {old: new}; their hours are added")
    ] = {}


class Price(Section):
    """Describe a price. The last one that fits a GPU counts. A MIG instance costs its compute slices of a GPU."""

    model: Annotated[str, Field(description="default: all models", examples=["H100 80GB HBM3"])] = ""
    pool: Annotated[str, Field(description="default: all pools", examples=["spot"])] = ""
    begin: Annotated[
        date | None, Field(alias="from", description="first day, in UTC; default: always", examples=["2026-10-01"])
    ] = None
    per_gpu_hour: Annotated[Money, Field(description="price of one GPU for one hour", examples=["2.10"])]
    currency: Annotated[
        Currency, Field(description="currency, the same in all prices; default: cost.currency", examples=["EUR"])
    ] = ""


class Cost(Section):
    currency: Annotated[Currency, Field(description="ISO 4217, such as EUR")] = ""
    prices: Annotated[tuple[Price, ...], Field(description="the last that fits a GPU counts")] = ()
    budgets: Annotated[
        Mapping[str, Money],
        Field(
            description="budget of a namespace for a calendar month, such as {team-a: 5000}: an alert fires above it"
        ),
    ] = {}

    @model_validator(mode="after")
    def validate_currency(self) -> "Cost":
        currencies = Counter(price.currency or self.currency for price in self.prices)
        if len(currencies) > 1:
            words = ", ".join(f"{name or 'none'} ({number})" for name, number in sorted(currencies.items()))
            raise ValueError(f"prices in one currency, not in {words}")
        if self.prices and not currencies.keys() - {""}:
            raise ValueError("a currency, such as EUR, where there are prices")
        if self.budgets and not self.prices:
            raise ValueError("prices, where there are budgets")
        return self

    @property
    def unit(self) -> str:
        """Return the currency of all prices."""
        return next((price.currency for price in self.prices if price.currency), self.currency)
