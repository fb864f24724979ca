"""Marks of temporary changes, and policies as they stand in them, come back as they were written."""

import json
import re
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.engines.call import Reply
from gpustack.engines.listings import parse_policies
from gpustack.engines.policies import build_policy_options, format_policy, translate_policy
from gpustack.probes.gpu.temporary_changes import (
    CLOCKS,
    KINDS,
    LOAD,
    POLICY,
    POWER_LIMIT,
    PROFILING,
    VALUES,
    Mark,
    parse_mark,
)
from tests.worlds.programs.live_engines import build_policy
from tests.worlds.snapshots.build import TAKEN_AT

LIMIT = st.none() | st.integers(1, 99999)
MARKS = st.fixed_dictionaries(
    {name: st.booleans() for name in ("ecc", "pcie", "nvlink", "xid")}
    | dict.fromkeys(("temperature", "power", "pages"), LIMIT)
)
CLOCK = st.integers(1, 99999)
VALUE = {
    PROFILING: st.just(""),
    LOAD: st.just(""),
    POLICY: st.builds(format_policy, MARKS),
    POWER_LIMIT: st.integers(1, 99999).map(str),
    CLOCKS: st.builds(lambda memory, sm: f"{memory},{sm}", CLOCK, CLOCK),
}
TIMES = st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@st.composite
def draw_marks(draw: st.DrawFn) -> Mark:
    kind = draw(st.sampled_from([*KINDS]))
    values = draw(st.lists(VALUE[kind], min_size=1, max_size=3))
    end, holder = draw(TIMES), draw(st.text(max_size=20))
    return Mark("gpu1", kind, end, holder, draw(VALUE[kind]), tuple(values), end < TAKEN_AT)


@settings(deadline=None, max_examples=100)
@given(draw_marks())
def test_a_mark_comes_back_as_it_was_written(mark: Mark) -> None:
    assert parse_mark("gpu1", mark.kind, mark.text, TAKEN_AT) == mark
    assert ("overdue since" in mark.description) == mark.overdue


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from([*KINDS]),
    st.dictionaries(st.sampled_from(["until", "who", "former", "values"]), st.text() | st.integers()),
    st.text(),
)
def test_another_text_is_no_mark(kind: str, fields: dict[str, object], text: str) -> None:
    assert parse_mark("gpu1", kind, text, TAKEN_AT) is None
    assert parse_mark("gpu1", kind, json.dumps(fields), TAKEN_AT) is None


@settings(deadline=None, max_examples=100)
@given(draw_marks(), st.sampled_from(["former", "values"]), st.text(min_size=1))
def test_a_value_that_cannot_be_set_is_no_mark(mark: Mark, field: str, text: str) -> None:
    loads = json.loads(mark.text)
    loads[field] = [text] if field == "values" else text
    parsed_mark = parse_mark("gpu1", mark.kind, json.dumps(loads), TAKEN_AT)
    assert (parsed_mark is None) == (VALUES[mark.kind].fullmatch(text) is None)
    assert parsed_mark is None or re.fullmatch(r"[a-z0-9=, ]*", text)


@settings(deadline=None, max_examples=100)
@given(MARKS, st.integers(0, 1), st.integers(0, 3))
def test_a_policy_comes_back_from_dcgmi(wanted: dict[str, bool | int | None], action: int, validation: int) -> None:
    """The policy may have an action or a validation, which others set."""
    policy = format_policy(wanted)
    policy += f" action={action}" if policy and action else ""
    policy += f" validation={validation}" if policy and validation else ""
    assert VALUES[POLICY].fullmatch(policy)
    _, verb, *rest = build_policy_options(policy)
    if not policy:
        assert verb == "--clear"
        return
    (row,) = parse_policies(Reply("gpu1", "", 0, build_policy(rest)))
    assert translate_policy(row.conditions, row.action, row.validation) == policy
