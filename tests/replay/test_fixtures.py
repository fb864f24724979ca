"""A fixture stands for the whole recording."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpustack.probes.host.system import OS
from tests.snapshots.fixture import alike, longer, pieces, shorter

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
OUTS = st.text() | st.lists(st.sampled_from(["a", "b", "c d"])).map("\n".join) | JSON.map(json.dumps)


def answer(out: str) -> dict[str, Any]:
    return {"probe": "p", "where": "h", "rc": 0, "out": out}


@given(was=OUTS, now=OUTS)
def test_what_was_made_short_says_the_same(was: str, now: str) -> None:
    known, values = answer(was), answer(now)
    short = json.loads(json.dumps(shorter(values, known)))
    assert pieces(longer(short, known)["out"]) == pieces(now)


def test_one_line_of_many_is_told_alone() -> None:
    was = "\n".join(map(str, range(100)))
    short = shorter(answer(was.replace("50", "fifty")), answer(was))
    assert short["lines"] == [[50, 51, ["fifty"]]]
    assert "out" not in short


def test_an_answer_that_says_the_same_is_left_out() -> None:
    out = "x86_64\nID=debian\nVERSION_ID=13\nVERSION_CODENAME=trixie\n\n"
    known = {"probe": OS.id, "where": "h", "rc": 0, "out": out}
    assert alike(OS, {**known, "out": out.replace("ID=", "LOGO=swirl\nID=", 1)}, known)
    assert not alike(OS, {**known, "out": out.replace("13", "12")}, known)
    assert not alike(OS, {**known, "rc": 1}, known)
    assert not alike(None, {**known, "err": "of a probe that there is not any more"}, known)
