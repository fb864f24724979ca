"""Exporters print metrics, rightly and wrongly. Types and help texts are those of etc/default-counters.csv of
dcgm-exporter 4.5.3-4.8.2; labels as its README shows them."""

import json
from xml.etree.ElementTree import fromstring

import pytest

from gpustack.errors import UnreachableError
from gpustack.gpus.contract import Contract, judge_exporter
from gpustack.metrics.exposition import fetch_families, parse_families
from gpustack.metrics.web import Access, Web
from gpustack.report.gpus import contract as report

LABELS = 'gpu="0",UUID="GPU-a",pci_bus_id="00000000:65:00.0",device="nvidia0",modelName="NVIDIA A100",Hostname="gpu1"'
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


def judge_texts(first: str, later: str | None = None) -> Contract:
    families = [parse_families(text_of_family) for text_of_family in (first, later) if text_of_family is not None]
    return judge_exporter(URL, families[0], families[1] if later is not None else None, 40)


def list_outcomes(contract: Contract) -> dict[str, str]:
    return {verdict.check: verdict.outcome for verdict in contract.verdicts}


def test_a_good_exporter_passes() -> None:
    labels_of_pod = f'{LABELS},pod="train-0",namespace="team-a",container="main"'
    good = format_metrics(TEMPERATURE, ENERGY, ENGINE, labels=labels_of_pod)
    contract = judge_texts(good, good.replace(" 1000", " 2000"))
    assert set(list_outcomes(contract).values()) == {"ok"}
    assert (contract.kept, contract.families, contract.gpus) == (True, 3, 1)


def test_an_idle_exporter_that_was_asked_once_leaves_two_things_open() -> None:
    contract = judge_texts(format_metrics(TEMPERATURE, ENERGY))
    assert {check for check, outcome in list_outcomes(contract).items() if outcome == "unknown"} == {"pods", "cadence"}
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
        (format_metrics(TEMPERATURE, labels='gpu="0",UUID="GPU-a",modelName="A100"'), "labels", "Hostname (1 series)"),
        (format_metrics(TEMPERATURE, labels='gpu="0",Hostname="gpu1",modelName="A100"'), "labels", "UUID (1 series)"),
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
    assert names.message == "1 fields of DCGM 4.7 in base units, 1 names of DCGM 4.6, 1 names of old"


def test_a_name_of_tomorrow_is_unknown_and_not_wrong() -> None:
    contract = judge_texts(format_metrics(TEMPERATURE, ("DCGM_FI_DEV_OF_TOMORROW", "gauge", "New.", "1")))
    assert contract.kept
    assert [verdict.names for verdict in contract.verdicts if verdict.names] == [("DCGM_FI_DEV_OF_TOMORROW",)]


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, b"<html><body>login</body></html>"), (404, b"not found"), (200, b"\xff\xfe"), (200, b'x{a="b" 1\n')],
)
def test_what_is_no_exporter_is_refused(status: int, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Web, "ask", lambda *_: (status, content))
    with pytest.raises(UnreachableError) as excinfo:
        fetch_families(Web(Access(URL)))
    assert excinfo.value.reference == "exporter-answer"


def test_json_and_junit_agree() -> None:
    contract = judge_texts(format_metrics(NVLINK, TEMPERATURE))
    document = json.loads(report.render_json(contract))
    assert document["compliant"] is False
    assert document["exit"]["code"] == 1
    suite = fromstring(report.render_junit(contract).partition("\n")[2])
    assert (suite.get("failures"), suite.get("errors")) == ("1", "2")
    assert len(document["checks"]) == int(suite.get("tests", "0"))


@pytest.mark.parametrize("empty", ["# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n", 'DCGM_FI_FOO{x="y"} 1\n'])
def test_without_a_gpu_nothing_can_be_relied_on(empty: str) -> None:
    assert not judge_texts(empty).kept


def test_a_moment_is_too_short_for_new_values() -> None:
    families = parse_families(format_metrics(ENERGY))
    assert list_outcomes(judge_exporter(URL, families, families, 5))["cadence"] == "unknown"


def test_one_gpu_that_stands_still_is_named() -> None:
    first_text, two = format_metrics(ENERGY), format_metrics(ENERGY, labels=LABELS.replace("GPU-a", "GPU-b"))
    contract = judge_texts(first_text + two, first_text.replace(" 1000", " 2000") + two)
    assert [verdict.names for verdict in contract.verdicts if verdict.check == "cadence"] == [("GPU-b",)]
