"""The profile says how many cases there are, and a few are run in any case."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLE_COUNT = settings().max_examples


def build_settings(number: int) -> settings:
    return settings(max_examples=number, suppress_health_check=list(HealthCheck))


# Answers of one draw: the draw costs ten times what an answer does.
BATCH = 20
CASES = build_settings(max(200, EXAMPLE_COUNT) // BATCH)
# Judging a whole step takes as long as twenty readings of an answer.
STEP_CASES = build_settings(max(50, EXAMPLE_COUNT // 5))
# One number decides everything.
SEED = st.integers(0, 2**64 - 1)
LIMIT = 1800
"""Of one test with 10,000 cases, in seconds."""
# Readers have their own batches: 20 to 200 cases of each in `make test`, ten times as many in `make fuzz`.
READER_CASES = build_settings(max(10, EXAMPLE_COUNT // 10))
