"""The operator's dashboards: which files are taken, what is filled in, and what is refused, all at once."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.config.dashboards.files import read_dashboards
from gpustack.config.dashboards.json_model import LARGEST, Dashboard, read_dashboard
from gpustack.config.spec import Spec

OWN_SOURCE = {"type": "prometheus", "uid": "prometheus"}
KEYS = ("title", "uid", "id", "__inputs", "__elements", "templating", "list", "name", "type", "value", "datasource")
INPUT = {"name": "DS_PROM", "type": "datasource", "pluginId": "prometheus", "pluginName": "Prometheus"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an inventory, with a folder for dashboards."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "site" / "dashboards").mkdir(parents=True)
    (tmp_path / "site" / "hosts.yml").touch()
    return tmp_path / "site"


def write_dashboard(path: Path, board: Any) -> Path:
    path.write_text(board if isinstance(board, str) else json.dumps(board))
    return path


def read(source: Path, *files: str) -> tuple[tuple[Dashboard, ...], list[str]]:
    dashboards, wrong = read_dashboards(source, Spec.model_validate({"dashboards": {"files": files}}))
    assert {complaint.reference for complaint in wrong} <= {"config-dashboard"}
    return dashboards, [str(mistake) for mistake in wrong]


def test_files_are_found_by_pattern_path_and_home(site: Path) -> None:
    write_dashboard(site / "dashboards" / "b.json", {"title": "B", "uid": "b"})
    write_dashboard(site / "dashboards" / "My Job (1).json", {"title": "A"})
    write_dashboard(site.parent / "c.json", {"title": "C", "uid": ""})
    for source in (site, site / "hosts.yml"):
        dashboards, wrong = read(source, "dashboards/*.json", "dashboards/b.json", "~/c.json")
        assert wrong == []
        assert [(dashboard.name, dashboard.uid, dashboard.title) for dashboard in dashboards] == [
            ("b", "b", "B"),
            ("c", "own-c", "C"),
            ("my-job-1", "own-my-job-1", "A"),
        ]


def test_without_files_nothing_is_read(site: Path) -> None:
    assert read(site) == ((), [])


def test_what_a_download_leaves_open_becomes_our_data_source(tmp_path: Path) -> None:
    """The text is as `Export for sharing externally` writes it, and as revisions on grafana.com have it."""
    board = {
        "__inputs": [INPUT, {"name": "VAR_JOB", "type": "constant", "value": "node"}],
        "__requires": [{"type": "grafana", "id": "grafana", "version": "12.0.0"}],
        "__elements": {},
        "id": 7,
        "title": "Mine",
        "templating": {"list": [{"name": "DS_CHOSEN", "type": "datasource", "query": "prometheus"}]},
        "panels": [
            {
                "datasource": "${DS_PROM}",
                "targets": [{"expr": 'up{job="${VAR_JOB}"}', "legendFormat": "{{node}} ${pod}"}],
            },
            {"datasource": {"type": "prometheus", "uid": "${DS_PROM}"}},
            {"datasource": {"uid": "${DS_FORGOTTEN}"}},
            {"datasource": "${DS_CHOSEN}"},
            {"datasource": "-- Grafana --"},
        ],
    }
    dashboard, wrong = read_dashboard(write_dashboard(tmp_path / "mine.json", board))
    assert (wrong, dashboard is not None) == ([], True)
    assert dashboard
    document = json.loads(dashboard.text)
    assert document.keys() == {"title", "templating", "panels", "uid"}
    assert [panel["datasource"] for panel in document["panels"]] == [
        OWN_SOURCE,
        OWN_SOURCE,
        {"uid": "prometheus"},
        "${DS_CHOSEN}",
        "-- Grafana --",
    ]
    assert document["panels"][0]["targets"] == [{"expr": 'up{job="node"}', "legendFormat": "{{node}} ${pod}"}]


@pytest.mark.parametrize(
    ("board", "key", "actual"),
    [
        ("{", "", "no JSON (line 1"),
        ('{"a": NaN}', "", "no JSON (the number NaN, which is not finite)"),
        ("[" * 100000, "", "no JSON"),
        ("\xff\xfe", "", "no JSON"),
        ([], "", "no object"),
        ({"apiVersion": "dashboard.grafana.app/v2beta1", "spec": {}}, "", "a resource of Grafana's API"),
        ({"dashboard": {"title": "A"}, "meta": {}}, "title", "nothing"),
        ({"title": " "}, "title", "' '"),
        ({"title": "A", "uid": "a b"}, "uid", "'a b'"),
        ({"title": "A", "uid": "x" * 41}, "uid", "xxx"),
        ({"title": "A", "uid": 5}, "uid", "5"),
        ({"title": "A", "__elements": {"x": {}}}, "__elements", "library panels"),
        ({"title": "A", "__inputs": [INPUT | {"pluginId": "loki"}]}, "__inputs.0", "'loki'"),
        ({"title": "A", "__inputs": ["x"]}, "__inputs.0", "'x'"),
        ({"title": "A", "text": "x" * LARGEST}, "", "bytes"),
        ({"title": "A", "text": "x" * 4 * LARGEST}, "", "larger than"),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_files_that_are_no_dashboards_are_refused(tmp_path: Path, board: Any, key: str, actual: str) -> None:
    path = tmp_path / "mine.json"
    if board == "\xff\xfe":
        path.write_bytes(b"\xff\xfe")
    else:
        write_dashboard(path, board)
    dashboard, wrong = read_dashboard(path)
    assert dashboard is None
    assert [(complaint.file, complaint.key, actual in complaint.actual) for complaint in wrong] == [
        (str(path), key, True)
    ]


def test_all_mistakes_of_all_files_are_reported_at_once(site: Path) -> None:
    write_dashboard(site / "dashboards" / "a.json", {"title": "", "uid": "!"})
    write_dashboard(site / "dashboards" / "b.json", "no")
    (site / "dashboards" / "c.json").mkdir()
    dashboards, wrong = read(site, "dashboards/*.json", "nowhere/*.json")
    assert dashboards == ()
    places = [
        "dashboards/a.json: title",
        "dashboards/a.json: uid",
        "dashboards/b.json",
        "dashboards/c.json",
        "group_vars/all/gpustack.yml: gpustack.dashboards.files",
    ]
    pairs = zip(places, wrong, strict=True)
    assert [place for place, mistake in pairs if mistake.replace(f"{site}/", "").startswith(f"{place}: ")] == places


def test_two_dashboards_of_one_name_uid_or_title_are_refused(site: Path) -> None:
    (site / "dashboards" / "more").mkdir()
    write_dashboard(site / "dashboards" / "a.json", {"title": "A", "uid": "gpustack-gpu-job"})
    write_dashboard(site / "dashboards" / "b.json", {"title": "GPU health", "uid": "x"})
    write_dashboard(site / "dashboards" / "more" / "b.json", {"title": "C", "uid": "x"})
    wrong = read(site, "dashboards/*.json", "dashboards/more/*.json")[1]
    assert [mistake.partition(", as in")[0].replace(f"{site}/dashboards/", "") for mistake in wrong] == [
        "a.json: uid: 'gpustack-gpu-job'",
        "b.json: title: 'GPU health'",
        "more/b.json: the file name b.json",
        "more/b.json: uid: 'x'",
    ]


def test_a_dashboard_where_ansible_would_read_it_is_refused(site: Path) -> None:
    write_dashboard(site / "mine.json", {"title": "A"})
    assert "Ansible reads the rest" in read(site, "*.json")[1][0]
    assert read(site / "hosts.yml", "*.json")[1] == []


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
        max_leaves=10,
    )
)
def test_any_json_is_judged_without_an_exception(tmp_path_factory: pytest.TempPathFactory, board: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    dashboard, wrong = read_dashboard(
        write_dashboard(path, {"title": "A"} | board if isinstance(board, dict) else board)
    )
    assert bool(dashboard) is not bool(wrong)
