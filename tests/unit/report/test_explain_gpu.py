import pytest

from gpustack.errors import UsageError
from gpustack.report.explain.contents import explain_topic
from gpustack.report.explain.gpu import explain_metric, explain_xid
from gpustack.vocabulary.fields import Field, find_fields, load_fields
from gpustack.vocabulary.guidance import load_guidance, load_wrong_ids
from gpustack.vocabulary.recorded_series import RecordedSeries, load_recorded_series
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


def test_a_field_says_what_its_values_mean_and_who_reads_it() -> None:
    page = explain_metric("GPU_TEMP")
    assert "Usual     30 to 85 Celsius" in page
    assert "High      Within 3 degrees of the slowdown limit clocks fall soon" in page
    assert "Recorded  gpustack:gpu_temperature:celsius\n" in page
    assert "GpuNearSlowdown" in page
    assert "GPU detail: Temperature" in page
    assert "Verdicts  temperature of `gpustack profile analyze`" in page


@pytest.mark.parametrize(
    ("id", "name", "confusion"),
    [
        ("155", "DCGM_FI_DEV_POWER_USAGE", "GPU utilisation or SM occupancy"),
        ("150", "DCGM_FI_DEV_GPU_TEMP", "memory utilisation"),
        ("100", "DCGM_FI_DEV_SM_CLOCK", "memory in use, or GPU utilisation"),
        ("203", "DCGM_FI_DEV_GPU_UTIL", "power"),
        ("252", "DCGM_FI_DEV_FB_USED", "temperature"),
    ],
)
def test_an_id_that_tutorials_confuse_says_so(id: str, name: str, confusion: str) -> None:
    page = explain_metric(id)
    assert page.startswith(f"{name}: field {id} of DCGM")
    assert f"Tutorials give id {id} for {confusion}" in " ".join(page.split())


@pytest.mark.parametrize(
    ("id", "confusion", "name"),
    [
        ("220", "bytes that a GPU sends over PCIe; that is id 1009", "DCGM_FI_PROF_PCIE_TX_BYTES"),
        ("421", "time throttled by heat; that is id 241", "DCGM_FI_DEV_THERMAL_VIOLATION"),
    ],
)
def test_a_wrong_id_of_tutorials_names_the_field_that_was_meant(id: str, confusion: str, name: str) -> None:
    page = explain_metric(id)
    assert f"Tutorials give id {id} for {confusion}." in " ".join(page.split())
    assert page.endswith(f"More\n  gpustack explain metric {name}\n")
    assert explain_topic(id) == page


def test_wrong_ids_are_no_known_fields_and_name_one() -> None:
    for wrong in load_wrong_ids().values():
        assert (find_fields(wrong.id), len(find_fields(wrong.right))) == ((), 1)


def test_an_unknown_id_suggests_no_other_id() -> None:
    with pytest.raises(UsageError) as excinfo:
        explain_metric("222")
    assert "Did you mean" not in excinfo.value.reason


def test_guidance_is_of_known_fields_that_gpustack_exports() -> None:
    names = {field.name for field in load_fields()}
    assert [name for name in load_guidance() if name not in names] == []


def test_an_idle_gpu_is_told_that_zero_is_right() -> None:
    for name in ("GPU_UTIL", "SM_ACTIVE", "PIPE_TENSOR_ACTIVE"):
        assert "0 is right" in explain_metric(name)


@pytest.mark.parametrize("series", load_recorded_series().values(), ids=lambda series: series.name)
def test_every_recorded_series_has_a_page_that_fits(series: RecordedSeries) -> None:
    page = explain_metric(series.name)
    assert max(len(line) for line in page.splitlines()[1:] if "DCGM_" not in line) <= 80
    assert f"Unit      {series.unit}" in page


def test_a_recorded_series_names_its_sources_and_readers() -> None:
    page = explain_metric("gpustack:gpu_power:watts")
    assert "From      DCGM_FI_DEV_POWER_USAGE" in page
    assert "GpuIdlePowerHigh" in page
    assert "GPU detail: Power" in page
