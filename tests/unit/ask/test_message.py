"""A long message loses its middle and keeps its end, where programs written in Go name the cause."""

import time

from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.message import LIMIT, shorten_message
from gpustack.ask.redact.redact import redact

END = 150
# opencontainers/runc#5305, as the kubelet wraps it, with a shorter id.
RUNC = (
    'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox "4aaef6805ae4": failed to '
    "create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to "
    "start container process: namespace NEWIPC is not supported: unknown"
)


@given(
    st.text(min_size=1, max_size=60), st.integers(1, 2 * LIMIT), st.text(max_size=END), st.integers(LIMIT, 2 * LIMIT)
)
def test_the_end_of_any_message_survives(part: str, count: int, end: str, limit: int) -> None:
    message = (part * count)[: 2 * limit] + end
    text = shorten_message(message, limit)
    assert len(text) <= limit
    assert text.endswith((message[-END:], redact(message)[-END:]))


def test_a_message_of_a_common_length_stays_whole() -> None:
    assert shorten_message(RUNC) == RUNC


def test_half_a_secret_does_not_stay() -> None:
    password = "kx7Qz" * 30
    text = shorten_message(f"{'x' * LIMIT} password={password} {RUNC}"[:-100])
    assert "kx7Qz" not in text
    text = shorten_message(f"{'x' * LIMIT} password={password}")
    assert "kx7Qz" not in text


def test_a_message_of_many_megabytes_is_shortened_at_once() -> None:
    began = time.process_time()
    assert shorten_message("spam <b> " * 1_000_000 + RUNC).endswith(RUNC[-END:])
    assert time.process_time() - began < 2
