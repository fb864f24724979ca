import pytest

from gpustack.errors import UsageError
from gpustack.report.explain.gpu import explain_metric, explain_xid
from gpustack.vocabulary.fields import Field, load_fields
from gpustack.vocabulary.xids import load_xids


def test_an_xid_says_how_bad_it_is_and_what_to_do() -> None:
    page = explain_xid("79")
    assert page.startswith("Xid 79: GPU has fallen off the bus\n")
    assert "Severity  critical, bus-power" in page
    assert "reboot the host" in page


@pytest.mark.parametrize("word", ["0", "174", "-1", "seventy", "\u0667\u0669", "79 "])
def test_what_is_no_xid_is_refused(word: str) -> None:
    with pytest.raises(UsageError) as excinfo:
        explain_xid(word)
    assert "1 to 173" in excinfo.value.reason


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UsageError) as excinfo:
        explain_metric("DCGM_FI_PROF_SM_ACTIVEE")
    assert excinfo.value.hint == "gpustack explain metric DCGM_FI_PROF_SM_ACTIVE"


@pytest.mark.parametrize(
    "word", ["SM_ACTIVE", "sm-active", "sm active", "1002", "dcgm_fi_prof_sm_active", "SM_UTIL_RATIO"]
)
def test_any_spelling_will_do(word: str) -> None:
    assert explain_metric(word).startswith("DCGM_FI_PROF_SM_ACTIVE: field 1002")


def test_a_part_of_a_name_is_suggested() -> None:
    with pytest.raises(UsageError) as excinfo:
        explain_metric("tensor")
    assert "TENSOR" in excinfo.value.reason


@pytest.mark.parametrize("field", load_fields(), ids=lambda field: f"{field.id}-{field.name}")
def test_every_field_has_a_page_that_fits(field: Field) -> None:
    page = explain_metric(field.name)
    assert max(len(line) for line in page.splitlines() if "http" not in line and "DCGM_" not in line) <= 80
    assert f"Unit      {field.unit}" in page


def test_every_xid_has_a_page() -> None:
    assert all(explain_xid(str(code)).startswith(f"Xid {code}: ") for code in load_xids())


def test_without_a_word_all_are_listed() -> None:
    assert len(explain_metric("").splitlines()) == len(load_fields())
    assert len(explain_xid("").splitlines()) == len(load_xids())
