"""The exporter's counters: known fields, right types, and a grammar that every exporter version reads."""

import csv
import os
import re
from pathlib import Path

import pytest

from tests.contract.promql import COUNTERS, ROOT, list_metrics, read_rows, read_rules

FIELDS = ROOT / "gpustack" / "versions" / "dcgm-fields.csv"
XIDS = ROOT / "gpustack" / "versions" / "xid.csv"
# The type a field of this kind has in Prometheus: what only looks like a counter (a latch, a bitmask) is a gauge.
TYPES = {
    "gauge": "gauge",
    "event": "gauge",
    "bitmask": "gauge",
    "info": "gauge",
    "counter": "counter",
    "label": "label",
}
# Exporters older than 4.8.3 end at these.
TOO_NEW = {"DCGM_EXP_XID_ERRORS_TOTAL", "DCGM_EXP_CLOCK_EVENTS_TOTAL"}


def read_fields() -> dict[str, list[str]]:
    """Read the row of each field: name, id, unit, kind, canonical name."""
    return {row[0]: row for row in read_rows(FIELDS)[1:]}


def read_reference(name: str) -> list[dict[str, str]]:
    """Read a table of the reference data, which is outside of the repository."""
    folder = Path(os.environ.get("GPUSTACK_REFERENCE_DATA", ROOT.parent / "shared" / "facts"))
    if not (folder / name).is_file():
        pytest.skip(f"no {folder / name}: set GPUSTACK_REFERENCE_DATA to the folder of the reference data")
    with (folder / name).open() as file:
        return list(csv.DictReader(file))


def test_every_row_has_three_cells_and_no_comma_in_its_help() -> None:
    assert [row for row in read_rows(COUNTERS) if len(row) != 3 or not row[2].endswith(".")] == []


def test_every_field_is_known_and_there_once() -> None:
    names = [row[0] for row in read_rows(COUNTERS)]
    assert [name for name in names if name not in read_fields() or name in TOO_NEW] == []
    assert sorted(names) == sorted(set(names))


def test_types_are_what_the_fields_are() -> None:
    assert [row[0] for row in read_rows(COUNTERS) if row[1] != TYPES[read_fields()[row[0]][3]]] == []


def test_nothing_is_exported_for_nobody() -> None:
    """A metric costs a series per GPU, so a recording rule has to use it."""
    import promql_parser

    read = {
        name for rule in read_rules("gpu-recording.yaml") for name in list_metrics(promql_parser.parse(rule["expr"]))
    }
    assert [row[0] for row in read_rows(COUNTERS) if row[1] != "label" and row[0] not in read] == []


def test_the_list_of_fields_is_as_the_reference_data() -> None:
    for fact in read_reference("dcgm-fields.csv"):
        if re.fullmatch(r"DCGM_\w+", fact["name"]):
            alias = re.search(r"alias of (\S+) since", fact["notes"])
            row = [fact["name"], fact["id"], fact["unit"], fact["kind"], alias[1] if alias else ""]
            assert read_fields()[fact["name"]][:5] == row


def test_the_list_of_xids_is_as_the_reference_data() -> None:
    facts = [[fact["xid"], fact["name"], fact["class"], fact["severity"]] for fact in read_reference("xid.csv")]
    assert [row[:4] for row in read_rows(XIDS)[1:]] == facts
