"""Values are of a type, or only look so."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from gpustack.ask.probe import Answer, FactUnavailable, Probe, Shell
from gpustack.ask.type_check import fits, resolve_return_type


@dataclass(frozen=True)
class Inner:
    name: str
    ports: tuple[int, ...]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1, int),
        (True, bool),
        ("a", str | None),
        (None, str | None),
        ("ok", Literal["ok", "silent"]),
        ((1, "a"), tuple[int, str]),
        ((), tuple[int, ...]),
        ({"a": Inner("b", (1, 2))}, Mapping[str, Inner]),
        (frozenset({"a"}), frozenset[str]),
        (datetime.now(UTC), datetime),
        ({"a": [1, None]}, Mapping[str, Any]),
    ],
)
def test_a_value_of_the_type_fits(value: Any, hint: Any) -> None:
    assert fits(value, hint)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("1", int),
        (True, int),
        (1, bool),
        (None, str),
        ("on", Literal["ok", "silent"]),
        ((1,), tuple[int, str]),
        ((1, "2"), tuple[int, ...]),
        ({"a": Inner("b", ("1",))}, Mapping[str, Inner]),  # type: ignore[arg-type]
        ({"a": Inner(None, ())}, Mapping[str, Inner]),  # type: ignore[arg-type]
        ({1: "a"}, Mapping[str, str]),
        (["a"], frozenset[str]),
    ],
)
def test_a_value_of_another_type_does_not_fit(value: Any, hint: Any) -> None:
    assert not fits(value, hint)


def test_a_parser_that_breaks_its_word_gives_no_fact() -> None:
    def number(answer: Answer) -> int:
        return answer.stdout  # type: ignore[return-value]

    assert resolve_return_type(number) is int
    with pytest.raises(FactUnavailable, match="unexpected answer"):
        Probe("a.b", Shell(""), number).extract_fact(Answer("a.b", "h1", 0, "7"))
