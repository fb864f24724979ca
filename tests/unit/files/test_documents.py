"""YAML and JSON of others: a document within its bounds, or an error with the line; in seconds, whatever it is."""

import contextlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpustack.files.document import ALIAS_LIMIT, DEPTH_LIMIT, DocumentError, LimitError
from gpustack.files.json_text import dump_json, parse_json
from gpustack.files.yaml_text import Rules, parse_yaml
from tests.unit.files.irregular import HOSTILE_YAML, make_bomb

pytestmark = pytest.mark.timeout(60)
ALIASES = Rules(aliases=True)
RULES = (Rules(), ALIASES, Rules(aliases=True, tags=True, dates=False, unique=True, plain=False))
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029\ufeff\ufffe\uffff"))
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
documents = st.recursive(
    leaves | texts, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("text", HOSTILE_YAML.values(), ids=HOSTILE_YAML)
def test_small_texts_that_stand_for_much_are_refused(text: str, rules: Rules) -> None:
    with pytest.raises(LimitError) as excinfo:
        parse_yaml(text, rules)
    assert excinfo.value.line


def test_aliases_within_the_bounds_are_what_they_were() -> None:
    text = "x: &x {a: 1, b: [1, 2]}\ny: {<<: *x, c: *x}\n" + make_bomb(3)
    assert parse_yaml(text, ALIASES) == yaml.safe_load(text)
    with pytest.raises(LimitError, match="aliases are not read here"):
        parse_yaml(text)


def count(value: Any) -> int:
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), min_size=1, max_size=8))
def test_what_is_accepted_is_no_larger_than_the_bound(choices: list[list[int]]) -> None:
    """Aliases to aliases, in any order that YAML allows."""
    lines = ["a0: &a0 [x, y]"]
    for index, numbers in enumerate(choices, start=1):
        lines.append(f"a{index}: &a{index} [{', '.join(f'*a{min(number, index - 1)}' for number in numbers)}]")
    text = "\n".join(lines)
    try:
        assert count(parse_yaml(text, ALIASES)) <= ALIAS_LIMIT + len(text)
    except LimitError:
        assert count(yaml.safe_load(text)) > ALIAS_LIMIT / 2


@given(documents)
def test_documents_come_back(document: Any) -> None:
    assert parse_yaml(yaml.safe_dump(document, allow_unicode=True)) == document
    assert parse_json(json.dumps(document)) == document
    assert parse_json(dump_json(document).encode()) == document


@given(st.text() | st.text("[]{}:,-&*!|>'\"\\ \n\t#%?0129.eaxU~<=", max_size=60) | st.binary().map(repr))
def test_any_text_is_a_document_or_an_error(text: str) -> None:
    for rules in RULES:
        with contextlib.suppress(DocumentError):
            assert count(parse_yaml(text, rules)) <= ALIAS_LIMIT + 2 * len(text) + 1
    with contextlib.suppress(DocumentError):
        document = parse_json(text)
        assert parse_json(json.dumps(document, allow_nan=False, ensure_ascii=False).encode()) == document


@given(st.binary())
def test_any_bytes_are_json_or_an_error(content: bytes) -> None:
    with contextlib.suppress(DocumentError):
        document = parse_json(content)
        assert parse_json(json.dumps(document).encode()) == document


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": "\\ud800"}', '{"\\udfff": 1}', "[" * 100_000,
        "[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1), "9" * 5000, "1" + "0" * 30, '{"a": ', "", "\ufeff\ufeff{}",
    ],
)  # fmt: skip
def test_json_beyond_the_standard_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        parse_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: .nan", "a: .inf", "a: -.inf", "a: !!binary aGk=", "a: !!set {b}", "a: !!omap [b: 1]", "a: 2020-99-99",
        "a: !!bool x", "a: !!float x", "a: !!int ''", "a: !!python/object/apply:os.system [id]", "? [1]\n: 2",
        "a: 1\n---\nb: 2", "a: " + "9" * 5000, "a: \x00", 'a: "\\ud800"', "a: b: c", "*x", "x" * (5 * 2**20),
    ],
)  # fmt: skip
def test_yaml_beyond_json_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        parse_yaml(text, ALIASES)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_json_without_a_word_for_it_is_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump_json(value)


def test_an_error_has_its_line_and_column() -> None:
    with pytest.raises(DocumentError) as excinfo:
        parse_yaml("a: 1\nb: [1\nc: 2\n")
    assert excinfo.value.line in (2, 3)
    with pytest.raises(DocumentError, match="`c` is given twice, first in line 3") as excinfo:
        parse_yaml("a: 1\nb:\n  c: 1\n  c: 2\n", Rules(unique=True))
    assert (excinfo.value.line, excinfo.value.column) == (4, 3)


@pytest.mark.parametrize("number", ["1" + ":0" * 100_000, "1" + ":0" * 100_000 + ".5", "9" * 100_000])
def test_an_endless_number_is_refused_before_it_is_read(number: str) -> None:
    with pytest.raises(LimitError, match="a number of more than 64 characters"):
        parse_yaml(f"a: {number}")


def test_a_number_to_the_base_60_is_read() -> None:
    assert parse_yaml("a: 1:30:00") == {"a": 5400}
