"""Values of Helm charts that act later and on their own: what each does, the value that gpustack chose, and why.

They are in gpustack/versions/charts/actions.yaml, by chart and version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpustack.config.chart_keys import CHARTS, DOT
from gpustack.config.resources import read_shipped_yaml


@dataclass(frozen=True)
class ChartAction:
    """Describe a value that acts on its own. `area` is the part of the chart's keys that have no effect without it,
    empty for none."""

    key: str
    acts: str
    default: Any
    value: Any
    reason: str
    area: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(part.replace("\\.", ".") for part in DOT.split(self.key))


@cache
def read_chart_actions(chart: str) -> tuple[ChartAction, ...]:
    """Read the values of a chart that act on their own. `chart` is name and version, such as gpu-operator-v26.7.0. A
    chart without a list has none, which a contract test forbids."""
    rows = read_shipped_yaml(CHARTS / "actions.yaml").get(chart, {})
    return tuple(ChartAction(key, **row) for key, row in rows.items())


def find_value(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Find the value at a path, None where there is none."""
    place: Any = values
    for part in path:
        place = place.get(part) if isinstance(place, Mapping) else None
    return place


def describe_enabled_actions(file: str, chart: str, values: Mapping[str, Any]) -> list[str]:
    """Describe each action that gpustack turned off and the operator's values turn on, with what will happen."""
    return [
        f"{file} sets {action.key}: true, which {action.acts}"
        for action in read_chart_actions(chart)
        if action.value is False and find_value(values, action.path) is True
    ]
