"""A fixture stands for the whole recording."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scripts.accuracy.snapshots import longer, pieces, shorter

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
OUTS = st.text() | st.lists(st.sampled_from(["a", "b", "c d"])).map("\n".join) | JSON.map(json.dumps)


def answer(out: str) -> dict[str, Any]:
    return {"probe": "p", "where": "h", "rc": 0, "out": out}


@given(was=OUTS, now=OUTS)
def test_what_was_made_short_says_the_same(was: str, now: str) -> None:
    known, said = answer(was), answer(now)
    short = json.loads(json.dumps(shorter(said, known)))
    assert pieces(longer(short, known)["out"]) == pieces(now)


def test_one_line_of_many_is_told_alone() -> None:
    was = "\n".join(map(str, range(100)))
    short = shorter(answer(was.replace("50", "fifty")), answer(was))
    assert short["lines"] == [[50, 51, ["fifty"]]]
    assert "out" not in short
