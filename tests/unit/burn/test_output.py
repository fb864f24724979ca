"""Output of dcgmproftester is parsed as its source prints it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.burn.output import Output, parse_output
from tests.worlds.results import burns


def test_output_of_tensor_loads_is_parsed() -> None:
    output = parse_output(burns.GOOD, "1004")
    assert output == Output("passed", 4, None, 610500.0, 1.0, (9, 0), output.reasons)


def test_memory_reduced_by_ecc_is_parsed() -> None:
    text = (
        burns.render_memory("0.851", "0.853", "0.860", divisor="1.12")
        + burns.render_messages(1005, (8, 6))
        + burns.end(1005)
    )
    output = parse_output(text, "1005")
    assert (output.ending, output.ticks, output.bandwidth_share, output.figure) == ("passed", 3, 0.853, 1660.0)
    assert (output.divisor, output.capability) == (1.12, (8, 6))


@pytest.mark.parametrize(
    ("id", "text"),
    [
        (1001, burns.render_occupancy(1001, "1.00", "2.00")),
        (1002, burns.render_occupancy(1002, "1.00", "2.00")),
        (1006, burns.render_data_type(1006, "Fp64EngineActive") * 2),
    ],
)
def test_a_load_without_figures_passes_without_them(id: int, text: str) -> None:
    output = parse_output(text + burns.end(id), str(id))
    assert (output.ending, output.ticks, output.figure, output.bandwidth_share) == ("passed", 2, None, None)


def test_the_zero_in_place_of_a_value_is_none() -> None:
    """dcgmproftester prints `dcgm 0` with --no-dcgm-validation."""
    assert parse_output(burns.render_memory("0.853"), "1005").bandwidth_share == 0.853
    assert parse_output(burns.render_data_type(1007, "Fp32EngineActive"), "1007").figure is None


def test_what_was_skipped_did_not_pass() -> None:
    output = parse_output(burns.SKIPPED_TEST, "1004")
    assert (output.ending, output.ticks) == ("none", 0)
    assert output.reasons == ("A test for fieldId 1004 has not been implemented yet.",)


def test_a_failure_outweighs_a_pass() -> None:
    text = burns.render_tensor("1.00e+05") + burns.end(1004) + burns.end(1004, passed=False)
    assert parse_output(text, "1004").ending == "failed"


def test_lines_of_another_field_are_not_of_this_one() -> None:
    assert parse_output(burns.GOOD, "1005") == Output(capability=(9, 0), reasons=("All Tests Passed.",))


def test_what_is_no_number_is_left_out() -> None:
    text = burns.render_tensor("nan", "inf", "-1.00", "5.00")
    assert (parse_output(text, "1004").ticks, parse_output(text, "1004").figure) == (1, 5.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.001, 0.99e9), min_size=1, max_size=9))
def test_every_number_that_fmt_writes_is_read(numbers: list[float]) -> None:
    """{:#.3} of fmt and of Python: three digits, the point stays."""
    output = parse_output(burns.render_tensor(*(f"{number:#.3}" for number in numbers)), "1004")
    assert output.ticks == len(numbers)
    assert output.figure is not None
    assert min(numbers) * 0.99 <= output.figure <= max(numbers) * 1.01


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(burns.GOOD)), st.text(max_size=20))
def test_a_torn_output_never_passes_by_itself(cut: int, noise: str) -> None:
    """Whatever is left of it, nothing raises, and only the line of the end makes a pass."""
    text = burns.GOOD[:cut] + noise
    assert (parse_output(text, "1004").ending == "passed") == ("\nGPU 0, TestField 1004 test PASSED." in text)


def test_numbers_that_no_gpu_reaches_are_left_out() -> None:
    endless = burns.GOOD.replace("6.12e+05 gflops", f"{'9' * 400} gflops")
    assert endless != burns.GOOD
    figure = parse_output(endless, "1004").figure
    assert figure is None or figure < 1e9
    digits = burns.GOOD.replace("CAPABILITY_MAJOR: 9", f"CAPABILITY_MAJOR: {'9' * 4301}")
    assert parse_output(digits, "1004").capability is None
