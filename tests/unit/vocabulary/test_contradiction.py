"""Values that cannot all be true are named; an unknown value contradicts nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.vocabulary.contradiction import Contradiction, find_contradiction

SHARE = st.one_of(st.none(), st.floats(0, 1))


@pytest.mark.parametrize(
    ("values", "names"),
    [
        # NVIDIA/dcgm-exporter#662 and NVIDIA/DCGM#303: GPU_UTIL at 99 to 100 with the engine at 0.
        ({"engine": 0.0, "sm": 0.0, "utilisation": 0.99, "power": 0.92}, ("engine", "utilisation")),
        ({"engine": 0.0, "utilisation": 0.99}, ("engine", "utilisation")),
        ({"engine": 0.0, "sm": 0.0, "power": 0.9}, ("engine", "power")),
        ({"sm": 0.0, "utilisation": 0.8}, ("sm", "utilisation")),
        ({"engine": 0.98, "utilisation": 0.0}, ("engine", "utilisation")),
        ({"engine": 0.2, "sm": 0.9}, ("sm", "engine")),
        ({"engine": 0.9, "power": 0.95, "clock": 0.1}, ("power", "clock")),
    ],
)
def test_a_pair_that_cannot_be_true_is_named(values: dict[str, float], names: tuple[str, str]) -> None:
    contradiction = find_contradiction(**values)
    assert contradiction
    assert contradiction.names == names
    assert contradiction.values == tuple(values[name] for name in names)


@pytest.mark.parametrize(
    "values",
    [
        # tests/recorded/h100: copies-pinned, context-alone, pointer-chase, matrix-product-bf16, tiny-kernels.
        {"engine": 0.0, "sm": 0.0, "utilisation": 1.0, "power": 0.19, "clock": 1.0, "copies": 0.93},
        {"engine": 0.0, "sm": 0.0, "utilisation": 0.0, "power": 0.19, "clock": 1.0, "copies": 0.0},
        {"engine": 0.98, "sm": 0.94, "utilisation": 0.99, "power": 0.28, "clock": 1.0},
        {"engine": 0.99, "sm": 0.95, "utilisation": 0.99, "power": 0.99, "clock": 0.69},
        {"engine": 0.29, "sm": 0.0, "utilisation": 0.29, "power": 0.19, "clock": 1.0},
        # An idle L4 draws 16 of 72 W, one that was just used up to 0.45 of its limit.
        {"engine": 0.0, "sm": 0.0, "utilisation": 0.0, "power": 0.45, "clock": 0.8},
    ],
)
def test_what_was_measured_together_does_not_disagree(values: dict[str, float]) -> None:
    assert find_contradiction(**values) is None


@given(engine=SHARE, utilisation=SHARE, power=SHARE, sm=SHARE, clock=SHARE)
def test_only_known_values_are_named(**values: float | None) -> None:
    contradiction = find_contradiction(**values)
    if isinstance(contradiction, Contradiction):
        assert contradiction.values == tuple(values[name] for name in contradiction.names)


def test_an_unknown_value_is_no_contradiction() -> None:
    assert find_contradiction() is None
    assert (
        find_contradiction(engine=0.0) is find_contradiction(utilisation=1.0) is find_contradiction(power=1.0) is None
    )
