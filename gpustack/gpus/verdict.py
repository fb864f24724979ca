"""Verdicts on the metrics of an exporter, and the form in which checks yield them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "wrong", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """Hold the outcome of a check. `message` is a sentence about it; `names` are some of the metrics or GPUs that it is
    about."""

    check: str
    outcome: Outcome
    message: str
    names: tuple[str, ...] = ()


def build_verdict(check: str, wrong: Sequence[str], bad: str, good: str) -> Iterator[Verdict]:
    yield Verdict(check, "wrong", bad, tuple(wrong)) if wrong else Verdict(check, "ok", good)
