"""Helm values of the operator: where they stand, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.receiver_values import find_lost_entries
from gpustack.config.sections.receiver import Receivers
from gpustack.config.values import (
    find_unknown_files,
    locate_values_folder,
    parse_values,
    read_operator_values,
)

CHART = "kube-prometheus-stack-88.5.3"


def test_values_stand_beside_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").touch()
    assert locate_values_folder(tmp_path) == locate_values_folder(tmp_path / "hosts.yml") == tmp_path / "values"
    assert locate_values_folder(None) == Path("/etc/gpustack-cluster/values")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "values").mkdir()
    return tmp_path


def read(site: Path, text: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    (site / "values" / "monitoring.yaml").write_text(text)
    values, wrong = read_operator_values(site, "monitoring", CHART)
    assert {complaint.file.split(":")[0] for complaint in wrong} <= {str(site / "values" / "monitoring.yaml")}
    return values, [(complaint.key, complaint.reference) for complaint in wrong]


def test_no_file_is_no_values(site: Path) -> None:
    assert read_operator_values(site, "monitoring", CHART) == ({}, [])
    assert read_operator_values(site / "nowhere" / "hosts.yml", "monitoring", CHART) == ({}, [])


def test_a_good_file_is_read(site: Path) -> None:
    values, wrong = read(site, "grafana: {grafana.ini: {users: {theme: light}}}\nkubeProxy: {enabled: off}\n")
    assert values == {"grafana": {"grafana.ini": {"users": {"theme": "light"}}}, "kubeProxy": {"enabled": False}}
    assert wrong == []


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "{}"])
def test_an_empty_file_has_no_values(site: Path, text: str) -> None:
    assert read(site, text) == ({}, [])


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("grafana:\n\tenabled: true\n", "config-not-yaml"),
        ("grafana: {}\ngrafana: {}\n", "config-not-yaml"),
        ("a: 1\n---\nb: 2\n", "config-not-yaml"),
        ("- grafana\n", "values-shape"),
        ("grafana\n", "values-shape"),
        ("grafana: !vault |\n  00\n", "config-not-yaml"),
        ("$ANSIBLE_VAULT;1.1;AES256\n00\n", "values-shape"),
    ],
)
def test_what_is_no_mapping_is_refused(site: Path, text: str, reference: str) -> None:
    assert read(site, text) == ({}, [("", reference)])


def test_all_that_is_wrong_is_reported_at_once(site: Path) -> None:
    text = "grafna: {}\nkubeProxy: []\nprometheus: {prometheusSpec: {retention: '{{ days }}d'}}\n"
    assert read(site, text)[1] == [
        ("prometheus.prometheusSpec.retention", "config-jinja"),
        ("grafna", "values-key-unknown"),
        ("kubeProxy", "values-shape"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{{ name }}", "{{name}}", "a {{- name -}} b", "{{ name | default(1) }}", "{{ a.b }}", "{{ a['b'] }}",
        "{{ f(1) }}", "{{ 'x' | upper }}", "{% if a %}b{% endif %}", "{# said #}",
    ],
)  # fmt: skip
def test_jinja_is_refused(site: Path, text: str) -> None:
    safe_dump = yaml.safe_dump({"alertmanager": {"config": {"receivers": [{"name": text}]}}})
    assert read(site, safe_dump)[1] == [("alertmanager.config.receivers.0.name", "config-jinja")]


@pytest.mark.parametrize(
    "text",
    [
        "{{ $labels.instance }}", "{{ .CommonLabels.alertname }}", '{{ template "slack.text" . }}',
        "{{ range .Alerts }}", "{{ end }}", "{{- else -}}", "{{ if gt (len .Alerts) 0 }}",
        "{{ $value | humanizePercentage }}", "{{ printf `%s` .X }}",
        '{{ "a" | quote }}', "{{ include \"x\" . }}", "{a: {b: c}}",
    ],
)  # fmt: skip
def test_templates_of_helm_prometheus_and_alertmanager_stay(site: Path, text: str) -> None:
    safe_dump = yaml.safe_dump({"alertmanager": {"config": {"receivers": [{"name": text}]}}})
    assert read(site, safe_dump)[1] == []


def test_keys_and_dates_are_texts_as_to_helm(site: Path) -> None:
    file = site / "values" / "x.yaml"
    file.write_text("2: a\ntrue: b\nnull: c\nsince: 2026-11-22\n")
    assert parse_values(file.read_text()) == {"2": "a", "true": "b", "null": "c", "since": "2026-11-22"}


def test_files_of_no_release_are_reported(site: Path) -> None:
    for name in ("monitoring.yaml", "monitoring.yml", "gpu-operater.yaml", "README.md", ".swp"):
        (site / "values" / name).touch()
    unknown_files = find_unknown_files(site, ["monitoring", "gpu-operator"])
    assert [(Path(wrong.file).name, wrong.reference) for wrong in unknown_files] == [
        ("gpu-operater.yaml", "values-stranger"),
        ("monitoring.yml", "values-stranger"),
    ]
    assert find_unknown_files(site / "nowhere" / "hosts.yml", ["monitoring"]) == []


@pytest.mark.parametrize(
    ("lists", "missing_entries"),
    [
        ("templates: [/etc/own/*.tmpl]", ["/etc/alertmanager/config/*.tmpl"]),
        ("templates: [/etc/own/*.tmpl, /etc/alertmanager/config/*.tmpl]", []),
        ("receivers: [{name: 'null'}, {name: own}]", ["default-webhook"]),
        ("receivers: [{name: 'null'}, {name: own}, {name: default-webhook}]", []),
        ("global: {resolve_timeout: 5m}", []),
    ],
)
def test_lists_that_receivers_of_the_spec_need_are_kept(site: Path, lists: str, missing_entries: list[str]) -> None:
    values, wrong = read(site, f"alertmanager: {{config: {{{lists}}}}}\n")
    assert wrong == []
    receivers = Receivers.model_validate({"default": [{"type": "webhook", "secret": "alerts/webhook"}]})
    complaints = find_lost_entries("monitoring.yaml", values, receivers)
    assert [complaint.rule for complaint in complaints] == [
        f"a list that also has {word}, or none" for word in missing_entries
    ]
    assert find_lost_entries("monitoring.yaml", values, Receivers()) == []
