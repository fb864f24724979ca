from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import build_readings, resolve_field
from gpustack.vocabulary.fields import TWINS, Field, find_fields, list_spellings, load_fields
from gpustack.vocabulary.units import UNITS, convert_to_base, find_unit

GPU = {"gpu": "0", "UUID": "GPU-a", "hostname": "gpu1", "job": "dcgm"}
CLASH = "DCGM_FI_DEV_GPU_UTIL_RATIO"


def build_series(name: str, *values: float, **labels: str) -> Series:
    points = tuple((1000.0 + 15 * n, value) for n, value in enumerate(values))
    return Series({"__name__": name, **GPU, **labels}, points)


@pytest.mark.parametrize(
    ("name", "raw", "value", "unit"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", 87, 0.87, "ratio"),
        ("DCGM_FI_DEV_FB_USED", 40000, 40000 * 2**20, "bytes"),
        ("DCGM_FI_DEV_FB_USED_BYTES", 40000, 40000, "bytes"),
        ("DCGM_FI_DEV_SM_CLOCK", 1980, 1.98e9, "hertz"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 3.6e9, 3.6e6, "joules"),
        ("DCGM_FI_DEV_POWER_VIOLATION", 2e9, 2.0, "seconds"),
        ("DCGM_FI_PROF_SM_ACTIVE", 0.25, 0.25, "ratio"),
        ("DCGM_FI_PROF_SM_UTIL_RATIO", 0.25, 0.25, "ratio"),
        ("DCGM_FI_DEV_FB_USED_PERCENT", 0.5, 0.5, "ratio"),
        ("DCGM_FI_PROF_HOSTMEM_CACHE_HIT", 50, 0.5, "ratio"),
        ("DCGM_FI_DEV_GPU_TEMP_LIMIT", -2, -2, "celsius"),
        ("DCGM_FI_DEV_GPU_TEMP_CELSIUS", 65, 65, "celsius"),
        ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", 12, 12.288e6, "bytes_per_second"),
        ("DCGM_FI_DEV_XID_ERRORS", 79, 79, "count"),
    ],
)
def test_values_are_in_base_units(name: str, raw: float, value: float, unit: str) -> None:
    (reading,) = build_readings([build_series(name, raw)], {}).newest
    assert reading.value == pytest.approx(value)
    assert reading.unit == unit


@pytest.mark.parametrize(
    "blank",
    [
        2147483632, 2147483635, 9223372036854775792, 9223372036854775794, 9.223372036854776e18,
        140737488355328.0, 140737488355330.0, float("nan"), float("inf"), -1.0,
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "name", ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", "DCGM_FI_DEV_FB_USED"]
)
def test_a_blank_value_is_no_reading(name: str, blank: float) -> None:
    below_zero = name.endswith("CELSIUS") and blank == -1.0
    assert [reading.value for reading in build_readings([build_series(name, blank)], {}).newest] == (
        [blank] if below_zero else []
    )


@pytest.mark.parametrize(("celsius", "values"), [(0, []), (1, [1]), (36, [36])])
def test_a_memory_without_a_sensor_has_no_temperature(celsius: float, values: list[float]) -> None:
    """DCGM sends 0 of it, as tests/recorded/exporter-pages have it of T4, L4, L40S and a vGPU guest."""
    for name in ("DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS"):
        assert [reading.value for reading in build_readings([build_series(name, celsius)], {}).newest] == values
    assert [reading.value for reading in build_readings([build_series("DCGM_FI_DEV_GPU_TEMP", 0)], {}).newest] == [0]


def test_a_blank_after_a_value_does_not_leave_the_old_value() -> None:
    assert build_readings([build_series("DCGM_FI_PROF_SM_ACTIVE", 0.5, float("nan"))], {}).newest == ()


@pytest.mark.parametrize(
    ("helps", "id"),
    [
        (["GPU utilization (in %)."], "203"),
        (["GPU utilization (in percent)."], "203"),
        (["GPU utilization ratio."], "1613"),
        (["Ratio of time, 0..1"], "1613"),
        ([], None),
        (["GPU utilization."], None),
        (["GPU utilization (in %).", "GPU utilization ratio."], None),
        (["GPU utilization ratio (in %)."], None),
    ],
)
def test_a_name_of_two_fields_is_settled_by_what_exporters_say(helps: Sequence[str], id: str | None) -> None:
    field = resolve_field(CLASH, helps)
    assert (field.id if field else None) == id


def test_one_field_is_one_whichever_generation_says_it() -> None:
    """MiB, and bytes since DCGM 4.7."""
    (reading,) = build_readings([build_series("DCGM_FI_DEV_FB_USED", 1000)], {}).newest
    (other_reading,) = build_readings([build_series("DCGM_FI_DEV_FB_USED_BYTES", 1000 * 2**20)], {}).newest
    assert reading == other_reading


def test_all_spellings_of_a_field_are_asked_for() -> None:
    assert set(list_spellings(frozenset({"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_SM_ACTIVE"}))) == {
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_GPU_UTIL_RATIO",
        "DCGM_FI_PROF_SM_ACTIVE",
        "DCGM_FI_PROF_SM_UTIL_RATIO",
    }


def test_every_twin_is_in_the_same_base_unit() -> None:
    for new, old in TWINS.items():
        (field,), (two,) = find_fields(new), find_fields(old)
        assert find_unit(field.unit).base == find_unit(two.unit).base


def test_an_unproven_unit_is_no_number_and_a_doubt() -> None:
    readings = build_readings([build_series(CLASH, 0.5)], {})
    assert readings.newest == ()
    assert CLASH in readings.doubts[0]


def test_two_scrapes_of_one_gpu_are_named_and_not_doubled() -> None:
    readings = build_readings(
        [build_series("DCGM_FI_DEV_GPU_TEMP", 60), build_series("DCGM_FI_DEV_GPU_TEMP", 60, 61, job="other")], {}
    )
    assert [reading.value for reading in readings.newest] == [61]
    assert readings.doubts == ("GPUs are scraped by 2 jobs, dcgm, other: each is counted once",)


def test_an_exporter_that_names_no_node_is_named() -> None:
    """The label is recorded: tests/recorded/exporter-pages/t4-pod-as-host."""
    host = {"hostname": "nvidia-dcgm-exporter-xpn6b", "instance": "10.244.1.7:9400"}
    readings = build_readings([build_series("DCGM_FI_DEV_GPU_TEMP", 40, **host)], {})
    assert [reading.gpu.node for reading in readings.newest] == ["10.244.1.7:9400"]
    (doubt,) = readings.doubts
    assert doubt.startswith("The exporter at 10.244.1.7:9400 names nvidia-dcgm-exporter-xpn6b as its host and no node")


def test_codes_and_instances_stay_apart() -> None:
    readings = build_readings(
        [
            build_series("DCGM_EXP_XID_ERRORS_COUNT", 1, xid="79"),
            build_series("DCGM_EXP_XID_ERRORS_COUNT", 2, xid="31"),
            build_series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.1),
            build_series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.9, GPU_I_ID="7", GPU_I_PROFILE="1g.10gb"),
        ],
        {},
    )
    assert sorted(reading.value for reading in readings.newest) == [0.1, 0.9, 1, 2]


def test_what_is_not_of_dcgm_is_left_out() -> None:
    assert (
        build_readings([build_series("up", 1), Series({"__name__": "DCGM_FI_DEV_GPU_TEMP"}, ((1.0, 2.0),))], {}).newest
        == ()
    )


def test_every_unit_of_the_table_is_known_or_a_number_of_things() -> None:
    plain = {"count", "code", "0/1", "enum", "bitmask", "string", "int", "gen", "lanes", "banks", "pages", "rows"}
    plain |= {"SXid", "Xid code", "0-15", "enum 0/10/20", "events", "events in window", "samples in window"}
    plain |= {"transitions"}
    assert {field.unit for field in load_fields()} - set(UNITS) <= plain


@given(st.sampled_from(load_fields()), st.floats(allow_nan=True, allow_infinity=True))
def test_a_value_is_finite_or_none(field: Field, raw: float) -> None:
    value = convert_to_base(find_unit(field.unit), raw)
    assert value is None or abs(value) < 1e20
