"""Durations in the notation of Prometheus (model.ParseDuration of prometheus/common), and times in UTC."""

import pytest

from gpustack.times import format_day, format_minute, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15),
        ("2m", 120),
        ("1h30m", 5400),
        ("1d", 86400),
        ("1w", 604800),
        ("1y", 31536000),
        ("500ms", 0.5),
        ("0s", 0),
    ],
)
def test_a_duration_is_parsed_to_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "15", "15 s", "1.5h", "-5m", "30m1h", "1m\n"])
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


def test_times_are_formatted_in_utc() -> None:
    assert (format_day(1_790_812_800), format_minute(1_790_814_600)) == ("2026-10-01", "2026-10-01 00:30")
