"""`capacity forecast` asks Prometheus in PromQL, for what is recorded or exported."""

import promql_parser
import pytest

from gpustack.forecast.read import build_expressions
from tests.contract.promql import find_unknown


@pytest.mark.parametrize("nodes", ["", 'a"b\\d+'])
def test_queries_are_promql_on_known_names(nodes: str) -> None:
    """Recorded ones, and of kube-state-metrics for the time before them."""
    for expr in build_expressions(nodes):
        promql_parser.parse(f"avg_over_time(({expr})[1h:5m])")
        assert find_unknown(expr) == []
        assert "or " in expr
        assert (nodes != "") is ("node=~" in expr) or "pending" in expr
