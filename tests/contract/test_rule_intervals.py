"""A group of rules is evaluated at its own interval, which promtool's tests of rules do not look at."""

import re
from datetime import timedelta
from typing import Any

import yaml

from tests.contract.promql import RULES, read_rules

LONGEST_DELAY = timedelta(minutes=5)
DEFAULT_INTERVAL = "30s"
UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}
GROUPS: list[dict[str, Any]] = yaml.safe_load((RULES / "gpu-alerts.yaml").read_text())["groups"]
ALERTS = [(group.get("interval", DEFAULT_INTERVAL), rule) for group in GROUPS for rule in group["rules"]]


def parse_duration(text: str) -> timedelta:
    return timedelta(**{UNITS[unit]: int(number) for number, unit in re.findall(r"(\d+)([smh])", text)})


def compute_delay(interval: timedelta, wait: timedelta) -> timedelta:
    """Compute by how much later than after its wait an alert fires at worst: a condition is first seen up to an
    interval after it began, and fires at the first evaluation behind its wait."""
    return interval + (-wait) % interval


def test_an_alert_is_delayed_by_five_minutes_at_most() -> None:
    late_alerts = [
        rule["alert"]
        for interval, rule in ALERTS
        if compute_delay(parse_duration(interval), parse_duration(rule["for"])) > LONGEST_DELAY
    ]
    assert late_alerts == []


def test_prometheus_still_has_the_sample_before() -> None:
    """Prometheus takes a sample for up to five minutes, so ALERTS has gaps where a group is evaluated less often."""
    assert max(parse_duration(interval) for interval, _ in ALERTS) < timedelta(minutes=5)


def test_series_of_half_hours_are_read_over_ranges() -> None:
    """Between two samples of half an hour Prometheus has none."""
    expressions = [rule["expr"] for name in ("gpu-recording.yaml", "gpu-alerts.yaml") for rule in read_rules(name)]
    followers = [mark for expr in expressions for mark in re.findall(r":(?:max|min)30m(?:{[^}]*})?(\S)", expr)]
    assert followers == ["["] * len(followers) != []
