"""What recorded series would say, computed by Prometheus from raw ones: the recording rules themselves, put in.

For a Prometheus without our rules. It is much more work for it, and a sample stands for five minutes.
"""

import re
from collections.abc import Mapping
from functools import cache

from gpustack.config.resources import shipped_yaml, values
from gpustack.config.sections.usage import Capacity, series_label
from gpustack.config.usage_series import SAMPLE

TEAM = series_label(Capacity().team_label)
"""The label that the rules read."""
INTERVAL = 300
NAME = re.compile(r"gpustack:\w+:\w+")


@cache
def rules() -> Mapping[str, str]:
    """Expressions of the recording rules of usage, and of those that they read; a name with several rules joined."""
    found: dict[str, str] = {}
    for group in shipped_yaml(values() / "rules" / "gpu-recording.yaml")["groups"]:
        for rule in group["rules"]:
            found[rule["record"]] = (
                f"{found[rule['record']]} or {rule['expr']}" if rule["record"] in found else rule["expr"]
            )
    return found | {SAMPLE: f"vector({INTERVAL})"}


def expand(expr: str, team_label: str = TEAM) -> str:
    """Without recorded names."""
    while names := set(NAME.findall(expr)):
        for name in names:
            expr = re.sub(rf"{name}\b", lambda _, name=name: f"({rules()[name]})", expr)  # type: ignore[misc]
    return expr.replace(TEAM, team_label)
