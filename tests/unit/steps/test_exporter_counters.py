"""The difference between two lists of counters of the exporter, in words."""

import pytest

from gpustack.steps.gpu.metrics import describe_counters


@pytest.mark.parametrize(
    ("actual_csv", "difference"),
    [
        ("A, gauge, a\nB, gauge, b\nC, gauge, c\n", "also with C"),
        ("A, gauge, a\nB, counter, b\n", "with another type or help of B"),
        ("A, gauge, a\n", "without B"),
        ("B, gauge, b\n# of theirs\nA, gauge, a\n", "the same counters in another order or with other comments"),
        ("A, gauge, z\nD, gauge, d\n", "without B; also with D; with another type or help of A"),
    ],
)
def test_a_plan_names_the_counters_that_differ(actual_csv: str, difference: str) -> None:
    assert describe_counters("A, gauge, a\nB, gauge, b\n", actual_csv) == difference
