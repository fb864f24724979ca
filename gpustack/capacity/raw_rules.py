"""Expressions of the recording rules, by which Prometheus computes recorded names from raw series.

They are for a Prometheus without the rules of gpustack. It is much more work for it, and a sample stands for five
minutes.
"""

import re
from collections.abc import Mapping
from functools import cache

from gpustack.config.resources import locate_shipped_values, read_shipped_yaml
from gpustack.config.sections.usage import Capacity
from gpustack.vocabulary.usage_series import SAMPLE, format_series_label

TEAM = format_series_label(Capacity().team_label)
"""The label that the rules read."""
INTERVAL = 300
NAME = re.compile(r"gpustack:\w+:\w+")


@cache
def load_expressions() -> Mapping[str, str]:
    """Load the expressions of the recording rules of usage, and of those that they read; several rules of one name are
    joined."""
    expressions: dict[str, str] = {}
    for group in read_shipped_yaml(locate_shipped_values() / "rules" / "gpu-recording.yaml")["groups"]:
        for rule in group["rules"]:
            expressions[rule["record"]] = (
                f"{expressions[rule['record']]} or {rule['expr']}" if rule["record"] in expressions else rule["expr"]
            )
    return expressions | {SAMPLE: f"vector({INTERVAL})"}


def expand_names(expr: str, team_label: str = TEAM) -> str:
    """Expand recorded names to the expressions of their rules."""
    while names := set(NAME.findall(expr)):
        for name in names:
            expr = re.sub(rf"{name}\b", lambda _, name=name: f"({load_expressions()[name]})", expr)  # type: ignore[misc]
    return expr.replace(TEAM, team_label)
