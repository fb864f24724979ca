"""The smallest contents that were an internal error once, by what reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpustack.autoscale.workload import find_owner
from gpustack.engines.diagnostic import judge_level
from gpustack.errors import UnreachableError, UsageError
from gpustack.metrics.exposition import parse_page
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.web import Access
from gpustack.profile.file import ADAPTER, read_profile
from gpustack.proof.alertmanager import Alertmanager, parse_counts
from gpustack.proof.contents import ContentsUnknown, list_contents
from gpustack.proof.credential import parse_login
from gpustack.proof.grafana import Grafana
from gpustack.proof.http import NoAnswer
from gpustack.proof.pod import ApiRefused, Pods, parse_reason
from gpustack.proof.prometheus import parse_scrapes
from tests.unit.hostile.api_readers import SpokenApi, SpokenWeb, build_answer
from tests.unit.hostile.file_readers import build_reply
from tests.unit.hostile.query_readers import ask_command, load_queries
from tests.unit.profile.right_answers import read_made_profile

DEEP = "[" * 5000
HUGE = "9" * 400


def make_queries(**labels: str) -> bytes:
    """Make the recording of a report in which each series of nodes and pods lacks all labels but these."""
    head, *lines = load_queries("capacity-report").decode().splitlines()
    answers = [json.loads(line) for line in lines]
    for answer in answers:
        if answer["status"] != 200:
            continue
        body = json.loads(answer["body"])
        for series in body["data"]["result"] if body["data"]["resultType"] == "vector" else ():
            series["metric"] = labels
        answer["body"] = json.dumps(body)
    return "\n".join([head, *map(json.dumps, answers)]).encode()


@pytest.mark.parametrize("labels", [{}, {"node": "h100"}, {"resource": "nvidia_com_gpu"}], ids=str)
def test_a_series_without_the_label_of_its_query_is_named(labels: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="lacks the label") as excinfo:
        ask_command("capacity report", make_queries(**labels), tmp_path)
    assert excinfo.value.reference == "prometheus-answer"


def test_a_row_with_a_number_beyond_floats_is_refused() -> None:
    page = parse_page(f"a 1\nb {HUGE}\n")
    assert [family.name for family in page.families if family.series] == ["a"]
    assert page.refused_rows[0].startswith("b, line 2")
    with pytest.raises(NoAnswer):
        parse_counts(f"alertmanager_notification_requests_total 1\nprocess_start_time_seconds {HUGE}\n")


@pytest.mark.parametrize("value", [1e300, -1e19])
def test_a_profile_with_a_number_beyond_all_quantities_is_refused(value: float, tmp_path: Path) -> None:
    document = json.loads(ADAPTER.dump_json(read_made_profile("spin")))
    document["job"]["windows"][0]["tracks"]["power"][0] = value
    (tmp_path / "p.json").write_text(json.dumps(document))
    with pytest.raises(UsageError):
        read_profile(tmp_path / "p.json")


@pytest.mark.parametrize("target", [1, "x", None, {}, {"labels": 1}], ids=repr)
def test_targets_of_another_shape_are_no_answer(target: Any) -> None:
    with pytest.raises(NoAnswer):
        parse_scrapes([target])


def test_metadata_of_a_diagnostic_of_another_shape_is_unknown() -> None:
    document = {"DCGM Diagnostic": {"test_categories": []}, "metadata": 1}
    judgement = judge_level(1, (build_reply(json.dumps(document).encode()),), {})
    assert list(judgement.unread) == ["gpu1"]


@pytest.mark.parametrize("alert", [1, {"status": 1, "receivers": [], "startsAt": "x"}], ids=repr)
def test_an_alert_of_another_shape_is_no_answer(alert: Any) -> None:
    with pytest.raises(NoAnswer):
        Alertmanager(SpokenWeb(json.dumps([alert]).encode())).find_alert({})


@pytest.mark.parametrize(
    "result",
    [
        "x",
        {"A": True},
        {"A": {"frames": 1}},
        {"A": {"frames": [{}]}},
        {"A": {"frames": [{"schema": {"fields": [{"type": "time"}]}, "data": {"values": []}}]}},
    ],
    ids=repr,
)
def test_frames_of_another_shape_are_no_answer(result: Any) -> None:
    with pytest.raises(NoAnswer):
        Grafana(SpokenWeb(json.dumps({"results": result}).encode())).query_panel("m", 0.0)


@pytest.mark.parametrize("content", ["[]", '{"items":[1]}', '{"kind":"APIGroupDiscoveryList","items":[[]]}', DEEP])
def test_a_discovery_of_another_shape_is_unknown(content: str) -> None:
    with pytest.raises(ContentsUnknown):
        list_contents(SpokenApi(content.encode()), "x", 1)


@pytest.mark.parametrize("content", ["[]", "1", DEEP])
def test_an_object_of_another_shape_is_refused(content: str) -> None:
    with pytest.raises(ApiRefused):
        Pods(SpokenApi(content.encode())).list_pods()


@pytest.mark.parametrize("content", ['{"items":[1]}', '{"items":[{"message":1}]}'])
def test_an_event_of_another_shape_is_no_warning(content: str) -> None:
    assert Pods(SpokenApi(content.encode())).find_warning("p") == ""


def test_nested_secrets_and_refusals_are_no_internal_error() -> None:
    assert isinstance(parse_login(build_answer(DEEP.encode())), str)
    assert parse_reason(DEEP) == ""


@pytest.mark.parametrize("labels", [{"owner_kind": "Deployment"}, {"owner_name": "vllm"}, {}], ids=str)
def test_an_owner_without_kind_or_name_is_no_owner(labels: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prometheus, "query_instant", lambda *_: (Series(labels, ((1.0, 1.0),)),))
    assert find_owner(Prometheus(Access("http://prometheus.example.org")), "kube_pod_owner") is None
