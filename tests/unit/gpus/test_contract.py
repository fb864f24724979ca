"""Exporters print metrics, rightly and wrongly. Types and help texts are those of etc/default-counters.csv of
dcgm-exporter 4.5.3-4.8.2; labels as its README shows them."""

import json
from xml.etree.ElementTree import fromstring

import pytest

from gpustack.cli.gpu.readers import list_readers
from gpustack.config.resources import read_own_counters
from gpustack.errors import UnreachableError
from gpustack.gpus.contract import Contract, judge_exporter
from gpustack.gpus.dependents import list_dependents, list_source_fields
from gpustack.metrics.exposition import fetch_families, fetch_page, parse_page
from gpustack.metrics.web import Access, Web
from gpustack.report.gpus import contract as report
from gpustack.vocabulary.fields import find_fields, find_original

LABELS = (
    'gpu="0",UUID="GPU-a",pci_bus_id="00000000:65:00.0",device="nvidia0",modelName="NVIDIA RTX A6000",Hostname="gpu1"'
)
URL = "http://gpu1:9400/metrics"
TEMPERATURE = ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", "47")
ENERGY = ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ).", "1000")
ENGINE = ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.", "0.5")
NVLINK = ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "Total number of NVLink bandwidth counters.", "12")
TWICE = f'DCGM_FI_DEV_GPU_TEMP{{{LABELS},x="y"}} 47\n'


def format_metrics(*metrics: tuple[str, str, str, str], labels: str = LABELS) -> str:
    return "".join(
        f"# HELP {name} {words}\n# TYPE {name} {kind}\n{name}{{{labels}}} {value}\n"
        for name, kind, words, value in metrics
    )


def judge_texts(first: str, later: str | None = None, nodes: frozenset[str] = frozenset()) -> Contract:
    later_page = None if later is None else parse_page(later)
    return judge_exporter(URL, parse_page(first), later_page, 40, node_names=nodes)


def list_outcomes(contract: Contract) -> dict[str, str]:
    return {verdict.check: verdict.outcome for verdict in contract.verdicts}


def test_a_good_exporter_passes() -> None:
    labels_of_pod = f'{LABELS},pod="train-0",namespace="team-a",container="main"'
    good = format_metrics(TEMPERATURE, ENERGY, ENGINE, labels=labels_of_pod)
    contract = judge_texts(good, good.replace(" 1000", " 2000"))
    assert {check for check, outcome in list_outcomes(contract).items() if outcome != "ok"} == {"fields", "alerts"}
    assert (contract.kept, contract.families, contract.gpus) == (True, 3, 1)


@pytest.mark.parametrize(
    ("host", "nodes", "name"),
    [
        ("gpu1.example.org", {"gpu1", "kube1"}, "gpu1.example.org (the node is gpu1)"),
        ("gpu1", {"gpu1.example.org", "kube1"}, "gpu1 (the node is gpu1.example.org)"),
        ("GPU1", {"gpu1"}, "GPU1 (the node is gpu1)"),
        ("worker-7", {"gpu1", "kube1"}, "worker-7 (nodes are gpu1, kube1)"),
        ("nvidia-dcgm-exporter-x7k2p", {"gpu1"}, "nvidia-dcgm-exporter-x7k2p (nodes are gpu1)"),
        ("localhost", {"b", "a", "d", "c"}, "localhost (nodes are a, b, c, …)"),
    ],
)
def test_a_host_that_names_no_node_of_the_cluster_is_found(host: str, nodes: set[str], name: str) -> None:
    page = format_metrics(TEMPERATURE, labels=LABELS.replace('Hostname="gpu1"', f'Hostname="{host}"'))
    (verdict,) = [verdict for verdict in judge_texts(page, nodes=frozenset(nodes)).verdicts if verdict.check == "hosts"]
    assert (verdict.outcome, verdict.names) == ("wrong", (name,))
    assert "spec.nodeName" in verdict.message


def test_a_host_that_names_a_node_of_the_cluster_is_right() -> None:
    assert list_outcomes(judge_texts(format_metrics(TEMPERATURE), nodes=frozenset({"gpu1", "kube1"})))["hosts"] == "ok"


def test_an_idle_exporter_that_was_asked_once_leaves_some_things_open() -> None:
    contract = judge_texts(format_metrics(TEMPERATURE, ENERGY, ENGINE))
    outcomes = list_outcomes(contract)
    assert {check for check, outcome in outcomes.items() if outcome == "unknown"} == {
        "pods",
        "cadence",
        "fields",
        "alerts",
    }
    assert contract.kept


@pytest.mark.parametrize(
    ("text", "check", "name"),
    [
        (format_metrics(NVLINK), "types", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL is a gauge, typed counter"),
        (
            format_metrics((*ENGINE[:2], "Ratio of time (in %).", "0.5")),
            "units",
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE is in ratio 0..1",
        ),
        (format_metrics((*TEMPERATURE[:3], "9223372036854775794")), "blanks", "DCGM_FI_DEV_GPU_TEMP"),
        (format_metrics(TEMPERATURE) + TWICE, "duplicates", "DCGM_FI_DEV_GPU_TEMP of GPU-a"),
        (format_metrics(TEMPERATURE, labels='gpu="0",UUID="GPU-a",modelName="T1000"'), "labels", "Hostname (1 series)"),
        (format_metrics(TEMPERATURE, labels='gpu="0",Hostname="gpu1",modelName="T1000"'), "labels", "UUID (1 series)"),
        ("# TYPE up gauge\nup 1\n", "names", ""),
    ],
)
def test_what_is_wrong_is_named(text: str, check: str, name: str) -> None:
    contract = judge_texts(text)
    assert {verdict.check for verdict in contract.verdicts if verdict.outcome == "wrong"} == {check}
    assert any(name in metric_name for verdict in contract.verdicts for metric_name in (*verdict.names, ""))
    assert not contract.kept


def test_values_that_stand_still_are_wrong_and_another_exporter_is_not() -> None:
    text = format_metrics(ENERGY)
    assert list_outcomes(judge_texts(text, text))["cadence"] == "wrong"
    assert (
        list_outcomes(judge_texts(text, format_metrics(ENERGY, labels=LABELS.replace("GPU-a", "GPU-b"))))["cadence"]
        == "unknown"
    )


def test_generations_are_counted() -> None:
    new = ("DCGM_FI_DEV_FB_USED_BYTES", "gauge", "Used memory (in bytes).", "1000")
    renamed = ("DCGM_FI_DEV_GPU_TEMP_CELSIUS", "gauge", "GPU temperature (in C).", "47")
    (names,) = [
        verdict
        for verdict in judge_texts(format_metrics(new, renamed, TEMPERATURE)).verdicts
        if verdict.check == "names"
    ]
    assert names.message == "1 fields of DCGM 4.7 in base units, 1 names of DCGM 4.6, 1 names from before DCGM 4.6"


def test_a_name_of_tomorrow_is_unknown_and_not_wrong() -> None:
    contract = judge_texts(format_metrics(TEMPERATURE, ("DCGM_FI_DEV_OF_TOMORROW", "gauge", "New.", "1")))
    assert contract.kept
    (verdict,) = [verdict for verdict in contract.verdicts if verdict.check == "names" and verdict.names]
    assert (verdict.outcome, verdict.names) == ("unknown", ("DCGM_FI_DEV_OF_TOMORROW",))


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, b"<html><body>login</body></html>"), (404, b"not found"), (200, b"\xff\xfe"), (200, b'x{a="b" 1\n')],
)
def test_what_is_no_exporter_is_refused(status: int, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Web, "ask", lambda *_: (status, content))
    for fetch in (fetch_families, fetch_page):
        with pytest.raises(UnreachableError) as excinfo:
            fetch(Web(Access(URL)))
        assert excinfo.value.reference == "exporter-answer"


def test_a_row_that_prometheus_refuses_is_named_to_a_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """`profile record` takes what Prometheus would take."""
    content = f"{format_metrics(ENERGY)}DCGM_FI_FOO{{{LABELS}}} ERROR - FAILED TO CONVERT TO STRING\n".encode()
    monkeypatch.setattr(Web, "ask", lambda *_: (200, content))
    with pytest.raises(UnreachableError, match="does not print metrics") as excinfo:
        fetch_families(Web(Access(URL)))
    assert excinfo.value.reason == "DCGM_FI_FOO, line 4: ERROR - FAILED TO CONVERT TO STRING"
    assert fetch_page(Web(Access(URL))).refused_rows == (excinfo.value.reason,)


def test_json_and_junit_agree() -> None:
    contract = judge_texts(format_metrics(NVLINK, TEMPERATURE))
    document = json.loads(report.render_json(contract))
    assert document["compliant"] is False
    assert document["exit"]["code"] == 1
    suite = fromstring(report.render_junit(contract).partition("\n")[2])
    assert (suite.get("failures"), suite.get("errors")) == ("1", "5")
    assert len(document["checks"]) == int(suite.get("tests", "0"))


@pytest.mark.parametrize("empty", ["# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n", 'DCGM_FI_FOO{x="y"} 1\n'])
def test_without_a_gpu_nothing_can_be_relied_on(empty: str) -> None:
    assert not judge_texts(empty).kept


def test_a_moment_is_too_short_for_new_values() -> None:
    page = parse_page(format_metrics(ENERGY))
    assert list_outcomes(judge_exporter(URL, page, page, 5))["cadence"] == "unknown"


def test_one_gpu_that_stands_still_is_named() -> None:
    first_text, two = format_metrics(ENERGY), format_metrics(ENERGY, labels=LABELS.replace("GPU-a", "GPU-b"))
    contract = judge_texts(first_text + two, first_text.replace(" 1000", " 2000") + two)
    assert [verdict.names for verdict in contract.verdicts if verdict.check == "cadence"] == [("GPU-b",)]


def test_a_missing_field_says_what_reads_it() -> None:
    """The alerts and dashboards are found by the recording rules, whatever their number between both."""
    contract = judge_exporter(URL, parse_page(format_metrics(ENERGY)), None, 0, {"gpu top": {ENGINE[0], "up"}})
    states = {state.name: state for state in contract.fields}
    assert states[ENERGY[0]].state == "present"
    engine = states[ENGINE[0]]
    assert (engine.state, engine.dependents.commands) == ("missing", ("gpu top",))
    assert "GpuIdleAllocated" in engine.dependents.alerts
    assert "GPU detail" in engine.dependents.dashboards
    document = json.loads(report.render_json(contract))
    (row,) = [row for row in document["fields"] if row["name"] == ENGINE[0]]
    assert (row["state"], row["reading_commands"]) == ("missing", ["gpu top"])


def test_nearly_every_field_of_ours_is_read_by_something() -> None:
    """Two are recorded for queries of people alone."""
    fields = {find_original(find_fields(name)[0]).name for name, kind in read_own_rows() if kind != "label"}
    assert fields - list_dependents(list_readers()).keys() == {"DCGM_FI_DEV_PSTATE"}


def read_own_rows() -> list[tuple[str, str]]:
    rows = [line.split(",") for line in read_own_counters().splitlines() if line and not line.startswith("#")]
    return [(row[0].strip(), row[1].strip()) for row in rows]


def test_every_command_reads_fields_that_are_known() -> None:
    readers = list_readers()
    unknown = {
        (command, name)
        for command, names in readers.items()
        for name in names
        if not name.startswith("gpustack:") and not find_fields(name) and not name.endswith("_")
    }
    assert unknown == set()
    assert all(list(list_source_fields(names)) for names in readers.values())
