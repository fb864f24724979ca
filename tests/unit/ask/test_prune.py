"""An answer keeps the named fields alone; what is no list stays what it is."""

import json

import pytest

from gpustack.ask.prune import prune

KEEP = ("metadata.name", "data.a", "status.conditions.type")
ENTRY = {
    "metadata": {"name": "n", "uid": "u"},
    "data": {"a": "1", "secret": "s"},
    "status": {"conditions": [{"type": "T", "reason": "R"}, {"type": "U"}]},
}
PRUNED_OBJECT = {
    "metadata": {"name": "n"},
    "data": {"a": "1"},
    "status": {"conditions": [{"type": "T"}, {"type": "U"}]},
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"kind": "List", "items": [ENTRY]}, {"items": [PRUNED_OBJECT]}),
        ({"kind": "List", "items": []}, {"items": []}),
        ({"kind": "PartialObjectMetadataList", "items": None}, {"items": []}),
        (ENTRY, PRUNED_OBJECT),
        ({"items": {"metadata": 1}}, {}),
        ({"items": "text"}, {}),
        ({"items": [None, 1, {"metadata": None}]}, {"items": [None, 1, {"metadata": None}]}),
        ([ENTRY], [PRUNED_OBJECT]),
        (None, None),
    ],
)
def test_only_named_fields_are_kept(before: object, after: object) -> None:
    assert json.loads(prune(json.dumps(before), KEEP)) == after


@pytest.mark.parametrize("text", ["", "ok", "404 page not found\n", '{"items":[', "[" * 100_000])
def test_what_is_no_json_is_returned_as_it_is(text: str) -> None:
    assert prune(text, KEEP) == text


def test_a_whole_branch_and_a_part_of_it_are_the_branch() -> None:
    assert json.loads(prune('{"a":{"b":1,"c":2}}', ("a", "a.b"))) == {"a": {"b": 1, "c": 2}}


def test_an_escaped_dot_belongs_to_the_key() -> None:
    entry = {"metadata": {"annotations": {"a.b/c": "1", "a": {"b/c": "2"}, "d": "3"}}}
    pruned_text = prune(json.dumps(entry), (r"metadata.annotations.a\.b/c",))
    assert json.loads(pruned_text) == {"metadata": {"annotations": {"a.b/c": "1"}}}
