"""The result of `capacity report`: the past, and what is so now."""

from dataclasses import dataclass

from gpustack.capacity.usage import Row, Usage


@dataclass(frozen=True)
class Capacity:
    """`rows` are `usage` by the dimensions `by`."""

    usage: Usage
    by: tuple[str, ...]
    rows: tuple[Row, ...]
