"""The table of patterns and the graph: what a pattern of a state points to leads to it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.doctor.graph import load_graph

TABLE = yaml.safe_load((Path(__file__).parent / "discriminators.yaml").read_text())


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["state"])
def test_what_a_pattern_points_to_leads_to_its_state(row: dict[str, Any]) -> None:
    points = {id for case in row["cases"] for id in case["points"]}
    assert points - load_graph().find_ancestors(row["state"]) - {row["state"]} == set()


def test_pods_reach_the_api_however_bridged_packets_are_filtered() -> None:
    assert "bridge-nf-call-off" not in load_graph().find_ancestors("st-api-from-pods-timeout")
