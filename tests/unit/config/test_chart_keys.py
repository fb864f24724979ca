"""Keys that a chart does not know, and what is reported about them."""

from typing import Any

import pytest

from gpustack.config import chart_keys
from gpustack.config.chart_keys import CHARTS, Key, judge_values, parse_keys, read_chart_keys

TEXT = r"""# Keys of the chart tiny-1.0.0.
driver.enabled
driver.version
driver.env[]
driver.resources.*
grafana.grafana\.ini.*
grafana.service.nodePort?
operator.serviceMonitor.enabled
"""


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_keys, "read_chart_keys", lambda chart: parse_keys(TEXT))


def list_complaints(values: dict[str, Any]) -> list[tuple[str, str, str]]:
    """List (key, reference, nearest) of every complaint."""
    return [
        (wrong.key, wrong.reference, wrong.nearest) for wrong in judge_values("values/tiny.yaml", "tiny-1.0.0", values)
    ]


def test_known_keys_and_all_below_free_keys_are_accepted() -> None:
    values = {
        "driver": {"enabled": False, "version": 1, "env": [{"any": {"thing": 1}}], "resources": {"limits": {"x": 1}}},
        "grafana": {"grafana.ini": {"server": {"root_url": "x"}}, "service": {"nodePort": {"odd": 1}}},
    }
    assert list_complaints(values) == []


def test_all_mistakes_are_reported_at_once() -> None:
    values = {
        "driver": {"enabeld": True, "env": {"a": "b"}, "resources": [], "version": {"major": 1}},
        "operator": [],
        "zebra": {"enabled": True},
    }
    assert list_complaints(values) == [
        ("driver.enabeld", "values-key-unknown", "driver.enabled"),
        ("driver.env", "values-shape", ""),
        ("driver.resources", "values-shape", ""),
        ("driver.version", "values-shape", ""),
        ("operator", "values-shape", ""),
        ("zebra", "values-key-unknown", ""),
    ]


def test_a_key_at_the_wrong_place_is_sent_to_its_own() -> None:
    assert list_complaints({"serviceMonitor": {"enabled": True}}) == [
        ("serviceMonitor", "values-key-unknown", "operator.serviceMonitor")
    ]


def test_a_key_with_several_places_is_sent_to_none() -> None:
    assert list_complaints({"enabled": True}) == [("enabled", "values-key-unknown", "")]


def test_a_dot_in_a_key_is_written_as_helm_wants_it() -> None:
    assert list_complaints({"grafana": {"grafana.imi": {}}}) == [
        ("grafana.grafana\\.imi", "values-key-unknown", "grafana.grafana\\.ini")
    ]


def test_null_deletes_a_known_key_and_no_other() -> None:
    assert list_complaints({"driver": {"env": None, "resources": None, "enabled": None}, "operator": None}) == []
    assert list_complaints({"drivers": None}) == [("drivers", "values-key-unknown", "driver")]


def test_a_complaint_names_file_key_and_remedy() -> None:
    (wrong,) = judge_values("values/tiny.yaml", "tiny-1.0.0", {"driver": {"verson": "1"}})
    assert str(wrong) == (
        "values/tiny.yaml: driver.verson: an unknown key; allowed: keys of the chart tiny-1.0.0; Helm would "
        "ignore this one; did you mean driver.version?"
    )


def test_a_line_without_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="no key"):
        parse_keys("a.b\n\nc\n")


def test_the_real_facts_have_every_kind() -> None:
    chart_keys = read_chart_keys("kube-prometheus-stack-88.5.3")
    assert format_kind(chart_keys, "prometheus", "prometheusSpec") == "map"
    assert format_kind(chart_keys, "prometheus", "prometheusSpec", "retention") == "value"
    assert format_kind(chart_keys, "prometheus", "prometheusSpec", "tolerations") == "list"
    assert format_kind(chart_keys, "prometheus", "prometheusSpec", "storageSpec") == "free"
    assert format_kind(chart_keys, "alertmanager", "config") == "free"
    assert format_kind(chart_keys, "grafana", "adminPassword") == "any"
    assert format_kind(chart_keys, "grafana", "grafana.ini") == "free"
    # What only a subchart's values.yaml says.
    assert format_kind(chart_keys, "grafana", "sidecar", "dashboards", "folderAnnotation") == "any"
    assert format_kind(chart_keys, "prometheus-node-exporter", "service", "targetPort") == "value"


def test_comments_of_examples_are_no_keys() -> None:
    chart_keys = read_chart_keys("kube-prometheus-stack-88.5.3")
    assert "emptyDir" not in chart_keys.children["prometheus"].children["prometheusSpec"].children
    assert "volumeClaimTemplate" not in chart_keys.children["alertmanager"].children["alertmanagerSpec"].children
    operator = read_chart_keys("gpu-operator-v26.7.0")
    assert format_kind(operator, "dcgmExporter", "config") == "any"
    assert "name" not in operator.children["dcgmExporter"].children["serviceMonitor"].children


def format_kind(key: Key, *path: str) -> str:
    for name in path:
        key = key.children[name]
    return key.kind


def test_every_list_of_facts_can_be_read() -> None:
    assert [path.stem for path in CHARTS.glob("*.keys") if not parse_keys(path.read_text()).children] == []
