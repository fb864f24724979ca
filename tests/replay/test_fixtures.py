"""A fixture stands for the whole recording."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.recording import read_recording
from gpustack.doctor.diagnose import diagnose
from gpustack.probes.host.system import OS
from gpustack.report.format import MISSING_PREFIX
from tests.snapshots.fixture import HEALTHY, has_same_fact, restore_answer, shorten_answer, split_output

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
OUTS = st.text() | st.lists(st.sampled_from(["a", "b", "c d"])).map("\n".join) | JSON.map(json.dumps)


def build_answer(output: str) -> dict[str, Any]:
    return {"probe": "p", "location": "h", "rc": 0, "stdout": output}


@given(was=OUTS, shortened_text=OUTS)
def test_what_was_made_short_says_the_same(was: str, shortened_text: str) -> None:
    base_text, values = build_answer(was), build_answer(shortened_text)
    short = json.loads(json.dumps(shorten_answer(values, base_text)))
    assert split_output(restore_answer(short, base_text)["stdout"]) == split_output(shortened_text)


def test_one_line_of_many_is_stored_alone() -> None:
    was = "\n".join(map(str, range(100)))
    short = shorten_answer(build_answer(was.replace("50", "fifty")), build_answer(was))
    assert short["lines"] == [[50, 51, ["fifty"]]]
    assert "stdout" not in short


def test_an_answer_that_says_the_same_is_left_out() -> None:
    stdout = "x86_64\nID=debian\nVERSION_ID=13\nVERSION_CODENAME=trixie\n\n"
    base_record = {"probe": OS.id, "location": "h", "rc": 0, "stdout": stdout}
    assert has_same_fact(OS, {**base_record, "stdout": stdout.replace("ID=", "LOGO=swirl\nID=", 1)}, base_record)
    assert not has_same_fact(OS, {**base_record, "stdout": stdout.replace("13", "12")}, base_record)
    assert not has_same_fact(OS, {**base_record, "rc": 1}, base_record)
    assert not has_same_fact(None, {**base_record, "stderr": "of a probe that there is not any more"}, base_record)


def test_every_answer_of_the_healthy_one_is_read() -> None:
    """Answers of newer probes are not in it."""
    unknown = diagnose(read_recording(HEALTHY)).unknown
    assert [judgement for judgement in unknown if not judgement.reason.startswith(MISSING_PREFIX)] == []
