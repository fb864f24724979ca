import pytest

from gpustack.vocabulary.fields import EXPORTER, find_fields, index_fields, load_fields
from gpustack.vocabulary.xids import ACTIONS, load_xids


@pytest.mark.parametrize(
    "word", ["DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO", "sm_active", " SM_UTIL_RATIO ", "1002"]
)
def test_a_field_is_found_by_any_spelling(word: str) -> None:
    assert [field.id for field in find_fields(word)] == ["1002"]


def test_a_name_with_two_meanings_gives_both() -> None:
    """DCGM 4.6 calls field 203 so, in per cent; DCGM 4.7 field 1613, as a share."""
    assert {(field.id, field.unit) for field in find_fields("DCGM_FI_DEV_GPU_UTIL_RATIO")} == {
        ("203", "%"),
        ("1613", "ratio 0..1"),
    }


def test_only_that_name_has_two_meanings() -> None:
    assert {word for word, fields in index_fields().items() if len(fields) > 1} == {
        "DCGM_FI_DEV_GPU_UTIL_RATIO",
        "GPU_UTIL_RATIO",
    }


@pytest.mark.parametrize("word", ["", "SM_ACTIV", "99999", EXPORTER])
def test_an_unknown_field_is_not_found(word: str) -> None:
    assert find_fields(word) == ()


def test_every_field_says_what_it_means() -> None:
    assert [field.name for field in load_fields() if not field.meaning.endswith(".")] == []


def test_every_action_of_nvidia_has_words_of_ours_and_none_is_for_nobody() -> None:
    assert {xid.action for xid in load_xids().values()} == set(ACTIONS)
    assert list(load_xids()) == list(range(1, 174))
