"""The dashboards of values/dashboards: places, ids, units, and that each expression reads what is there."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from gpustack.steps import budget
from tests.contract.prometheus_server import PRICED_SPEC
from tests.contract.promql import (
    ROOT,
    RULES,
    covers_gpus,
    find_gauge_rates,
    find_lost_labels,
    find_unknown,
    list_metrics,
    read_rules,
    walk_tree,
)
from tests.contract.promtool import run_promtool
from tests.contract.written_series import list_series

FILES = sorted((ROOT / "values" / "dashboards").glob("*.json"))
every_dashboard = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)

# Unit ids of Grafana (getValueFormats of @grafana/data 13) that we use.
UNITS = {"none", "percentunit", "celsius", "watt", "joule", "hertz", "bytes", "Bps", "s"}
KINDS = {"timeseries", "stat", "table", "row"}
MACROS = {"$__rate_interval": "5m", "$__range": "1h", "$__interval": "30s"}
# Metrics of an application that a reader of the job dashboard could choose.
CHOSEN_METRICS = {"metric": "training_loss", "counter": "training_samples_total", "timing": "training_step_seconds"}
APPLICATION = {"training_loss", "training_samples_total", "training_step_seconds_sum", "training_step_seconds_count"}
# A sum or mean over GPUs is what these are for.
TOTALS = {"gpu-overview", "gpu-node"}

# What the well-known exporter dashboard (Grafana id 12239) shows, and what is missed there.
WELL_KNOWN = {
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
}
MORE_METRICS = {
    "DCGM_FI_DEV_FB_FREE",
    "DCGM_FI_DEV_MEMORY_TEMP",
    "DCGM_FI_DEV_MEM_CLOCK",
    "DCGM_FI_PROF_PCIE_RX_BYTES",
    "DCGM_FI_PROF_PCIE_TX_BYTES",
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "DCGM_EXP_XID_ERRORS_COUNT",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
}
# Of the whole fleet there: mean temperature and total power.
WHOLE_FLEET = {"gpustack:gpu_temperature:celsius": "avg", "gpustack:gpu_power:watts": "sum"}


def read(file: Path) -> dict[str, Any]:
    board: dict[str, Any] = json.loads(file.read_text())
    return board


def list_expressions(board: dict[str, Any]) -> list[str]:
    expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    for macro, value in MACROS.items():
        expressions = [expr.replace(macro, value) for expr in expressions]
    return expressions


def choose_metrics(expr: str) -> str:
    """Choose an application's metrics, named as PromQL has it: `x{…}` for `{__name__="x",…}`."""
    for name, metric in CHOSEN_METRICS.items():
        expr = expr.replace(f"${{{name}}}", metric).replace(f"${name}", metric)
    return re.sub(r'\{__name__="(\w+)",', r"\1{", expr)


def fill_variables(expr: str) -> str:
    """Fill in variables as Grafana does where everything is chosen, and with one namespace."""
    return re.sub(r"\$(?:node|UUID|pod)\b", ".*", choose_metrics(expr)).replace("$namespace", "n")


def find_sums(tree: Any, *, one_per_gpu: bool = False) -> Iterator[str]:
    """Find sums, means and counts over series of GPUs that count pods and MIG instances again."""
    if isinstance(tree, promql_parser.AggregateExpr):
        named_labels = set(tree.modifier.labels) if tree.modifier else set()
        if str(tree.op) in {"max", "min"}:
            one_per_gpu = one_per_gpu or {"node", "UUID"} <= named_labels
            if one_per_gpu:
                return
        elif covers_gpus(tree.expr):
            inner = [node for node in walk_tree(tree.expr) if isinstance(node, promql_parser.AggregateExpr)]
            if not inner:
                yield str(tree)
    for part in ("lhs", "rhs", "expr"):
        if (child := getattr(tree, part, None)) is not None:
            yield from find_sums(child, one_per_gpu=one_per_gpu)
    for argument in getattr(tree, "args", None) or []:
        yield from find_sums(argument, one_per_gpu=one_per_gpu)


def test_names_are_ours_and_differ() -> None:
    boards = [read(file) for file in FILES]
    assert [board["uid"] for board in boards] == [f"gpustack-{file.stem}" for file in FILES]
    assert len({board["title"] for board in boards}) == len(FILES)
    assert all(len(board["uid"]) <= 40 for board in boards)


@every_dashboard
def test_it_needs_nothing_filled_in(file: Path) -> None:
    """A dashboard has no `__inputs` and no id of a database, and its data source is `prometheus` by default."""
    board = read(file)
    assert not {"__inputs", "__requires", "id"} & board.keys()
    assert board["schemaVersion"] >= 39
    source, *other_variables = board["templating"]["list"]
    assert (source["type"], source["query"], source["current"]["value"]) == ("datasource", "prometheus", "prometheus")
    sources = [part["datasource"] for part in [*other_variables, *board["panels"]] if "datasource" in part]
    sources += [target["datasource"] for panel in board["panels"] for target in panel.get("targets", [])]
    assert {source["uid"] for source in sources} == {f"${{{source['name']}}}"}


@every_dashboard
def test_panels_lie_beside_each_other(file: Path) -> None:
    panels = read(file)["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    places = [(panel["title"], panel["gridPos"]) for panel in panels]
    assert [
        title
        for title, position in places
        if position["x"] < 0 or position["x"] + position["w"] > 24 or position["w"] < 1 or position["h"] < 1
    ] == []
    assert [(title, other_title) for (title, a), (other_title, b) in combinations(places, 2) if has_overlap(a, b)] == []


@every_dashboard
def test_no_line_of_panels_has_a_gap(file: Path) -> None:
    widths: dict[int, int] = {}
    for panel in read(file)["panels"]:
        position = panel["gridPos"]
        widths[position["y"]] = widths.get(position["y"], 0) + position["w"]
    assert set(widths.values()) == {24}


def test_codes_are_shown_as_words() -> None:
    panels = {panel["title"]: panel for panel in read(ROOT / "values" / "dashboards" / "gpu-health.json")["panels"]}
    texts = {
        title: {code: word["text"] for code, word in panel["fieldConfig"]["defaults"]["mappings"][0]["options"].items()}
        for title, panel in panels.items()
        if "mappings" in panel.get("fieldConfig", {}).get("defaults", {})
    }
    assert texts.keys() == {"Verdict", "Recovery action", "Fabric Manager"}
    assert (texts["Verdict"]["3"], texts["Verdict"]["6"]) == ("unknown", "replace")
    assert (texts["Recovery action"]["0"], texts["Recovery action"]["2"]) == ("nothing", "reboot the host")
    assert (texts["Fabric Manager"]["0"], texts["Fabric Manager"]["3"]) == ("not supported", "success")


def has_overlap(a: dict[str, int], b: dict[str, int]) -> bool:
    return (
        a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]
    )


@every_dashboard
def test_panels_say_what_they_show(file: Path) -> None:
    for panel in read(file)["panels"]:
        assert panel["type"] in KINDS
        if panel["type"] == "row":
            continue
        defaults = panel["fieldConfig"]["defaults"]
        properties = [setting for override in panel["fieldConfig"]["overrides"] for setting in override["properties"]]
        units = [defaults["unit"]] + [setting["value"] for setting in properties if setting["id"] == "unit"]
        assert (panel["title"], set(units) - UNITS) == (panel["title"], set())
        assert "" not in {panel["description"], defaults["noValue"]}, panel["title"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@every_dashboard
def test_expressions_read_what_is_there(file: Path) -> None:
    expressions = [choose_metrics(expr) for expr in list_expressions(read(file))]
    assert expressions
    assert [name for expr in expressions for name in find_unknown(expr) if name not in APPLICATION] == []
    assert [
        rates_of_gauge
        for expr in expressions
        for rates_of_gauge in find_gauge_rates(expr)
        if "training" not in rates_of_gauge
    ] == []


def choose_time(expr: str) -> str:
    """Choose a time at which a sum over an hour has data."""
    return "61m" if "[31d:1h]" in expr else "8m"


@every_dashboard
def test_every_expression_has_data_from_the_enabled_counters(file: Path, tmp_path: Path) -> None:
    expressions = [fill_variables(expr) for expr in list_expressions(read(file))]
    probes = [
        {
            "expr": f"count({expr}) > bool 0",
            "eval_time": choose_time(expr),
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for expr in expressions
    ]
    (tmp_path / "priced.yaml").write_text(yaml.safe_dump({"groups": budget.build_groups(PRICED_SPEC)}))
    rule_files = [str(path) for path in (*sorted(RULES.glob("*.yaml")), tmp_path / "priced.yaml")]
    test = {"interval": "30s", "input_series": list_series(), "promql_expr_test": probes}
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": rule_files, "evaluation_interval": "30s", "tests": [test]}))
    assert run_promtool("test", "rules", path) == ""


@every_dashboard
def test_a_gpu_is_its_uuid_and_counted_once(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"\binstance\b|\bHostname\b|exported_", text)
    expressions = [choose_metrics(expr) for expr in list_expressions(read(file))]
    assert [total for expr in expressions for total in find_sums(promql_parser.parse(expr))] == []
    if file.stem not in TOTALS:
        assert [label for expr in expressions for label in find_lost_labels(expr, "node", "UUID")] == []


@every_dashboard
def test_nothing_is_divided_by_what_may_be_nought(file: Path) -> None:
    """0 / 0 is NaN, and where a line begins with NaN, Grafana's component draws nothing of it."""
    expressions = [choose_metrics(expr) for expr in list_expressions(read(file))]
    assert [divisor for expr in expressions for divisor in find_zero_divisors(expr)] == []


def find_zero_divisors(expr: str) -> list[str]:
    """Find divisors without a comparison that have a rate, or a count of what there is to allocate."""
    trees = [node for node in walk_tree(promql_parser.parse(expr)) if isinstance(node, promql_parser.BinaryExpr)]
    divisors = [str(tree.rhs) for tree in trees if str(tree.op) == "/"]
    return [divisor for divisor in divisors if re.search(r"rate\(|allocatable", divisor) and " > 0" not in divisor]


def test_a_division_by_nought_is_found() -> None:
    guarded_ratio = "sum(rate(a_sum[5m])) / (sum(rate(a_count[5m])) > 0)"
    assert find_zero_divisors(guarded_ratio) == []
    assert find_zero_divisors(guarded_ratio.replace(" > 0", "")) != []


@every_dashboard
def test_variables_are_used(file: Path) -> None:
    board = read(file)
    names = {variable["name"] for variable in board["templating"]["list"][1:]}
    used_names = set(re.findall(r"\$\{?(\w+)", " ".join(list_expressions(board))))
    assert used_names == names
    assert [
        variable for variable in board["templating"]["list"][1:] if variable["multi"] and variable["allValue"] != ".*"
    ] == []


def test_dashboards_show_all_of_the_well_known_one_and_more() -> None:
    boards_by_expression: dict[str, set[str]] = {}
    for rule in read_rules("gpu-recording.yaml"):  # a record of a record comes after it
        direct = list_metrics(promql_parser.parse(rule["expr"]))
        boards_by_expression[rule["record"]] = boards_by_expression.get(rule["record"], set()).union(
            direct, *(boards_by_expression.get(name, set()) for name in direct)
        )
    detail = list_expressions(read(ROOT / "values" / "dashboards" / "gpu-detail.json"))
    shown_names = {name for expr in detail for name in list_metrics(promql_parser.parse(expr))}
    assert (WELL_KNOWN | MORE_METRICS) - {
        source for name in shown_names for source in boards_by_expression[name]
    } == set()


def test_the_fleet_is_shown_as_there() -> None:
    expressions = list_expressions(read(ROOT / "values" / "dashboards" / "gpu-overview.json"))
    for name, operation in WHOLE_FLEET.items():
        assert [expr for expr in expressions if expr.startswith(f"{operation}(") and name in expr], name


@pytest.mark.parametrize(
    "expr",
    [
        "sum(gpustack:gpu_power:watts)",
        "avg by (node) (gpustack:gpu_utilisation:ratio)",
        "count(gpustack:gpu:info) or vector(0)",
    ],
)
def test_a_sum_that_counts_twice_is_found(expr: str) -> None:
    assert list(find_sums(promql_parser.parse(expr)))


def test_places_that_overlap_are_found() -> None:
    assert has_overlap({"x": 0, "y": 0, "w": 12, "h": 8}, {"x": 11, "y": 7, "w": 4, "h": 4})
    assert not has_overlap({"x": 0, "y": 0, "w": 12, "h": 8}, {"x": 12, "y": 0, "w": 12, "h": 8})
