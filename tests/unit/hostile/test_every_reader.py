"""The table of readers is complete: each function that parses what others wrote runs for some reader or probe.

The list of these functions is made from the source, by the parsers and queries that they call.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from gpustack.ask.probe import FactUnavailable
from tests.contract.sources import PRODUCT
from tests.unit.hostile.answers import list_recorded
from tests.unit.hostile.test_parsers import PROBES
from tests.unit.hostile.test_readers import READERS

PARSERS = {
    "load_json", "parse_json", "loads", "raw_decode", "parse_yaml", "parse_yaml_mapping", "fromstring", "validate_json",
    "text_string_to_metric_families", "parse_page", "query_instant", "query_range", "fetch_time", "fetch_targets",
    "fetch_help_texts", "fetch_page", "fetch_families", "read_string",
}  # fmt: skip
OTHER_TESTS = {
    "bundle/layout.py": "A bundle is read behind its signature and checksums (tests/unit/bundle).",
    "bundle/manifest.py": "A bundle is read behind its signature and checksums (tests/unit/bundle).",
    "config/ansible/cfg.py": "test_config.py fuzzes it.",
    "config/ansible/inventory_listing.py": "Ansible's own output; test_config.py fuzzes the variables in it.",
    "config/yaml_files.py": "It names the line of a mistake that Ansible found (tests/unit/config).",
    "config/dashboards/files.py": "Dashboards of this program.",
    "gpus/dependents.py": "Dashboards of this program.",
    "vocabulary/recorded_series.py": "Dashboards of this program.",
    "probes/host/declaration.py": "A file of this program.",
    "profile/recording.py:record_prometheus": "The queries are those of `read_last`.",
    "capacity/idle_pods.py:query_owners": "No recording has an idle pod; the labels are taken as they are.",
    "capacity/idle_pods.py:query_idle_starts": "No recording has an idle pod; the labels are taken as they are.",
    "metrics/exposition.py:parse_families": "It refuses rows that `parse_page` has found.",
    "files/": "These are the parsers.",
    "metrics/recording.py": "Rows `recordings of --from`.",
    "ask/prune.py": "Row `pruning`.",
}


def find_readers(name: str, source: str) -> Iterator[str]:
    """Find the functions of a module that call a parser, as `module.py:function`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
            names = {getattr(call, "attr", getattr(call, "id", "")) for call in calls}
            if names & PARSERS:
                yield f"{name}:{node.name}"


def list_readers() -> set[str]:
    files = {str(path.relative_to(PRODUCT)): path for path in sorted(PRODUCT.rglob("*.py"))}
    readers = {reader for name, path in files.items() for reader in find_readers(name, path.read_text())}
    return {reader for reader in readers if not reader.startswith(tuple(OTHER_TESTS))}


def run_all(folder: Path) -> set[str]:
    """Run every reader and probe on contents that are right, and list the functions of the product that ran."""
    codes: set[CodeType] = set()

    def add_code(frame: object, event: str, _: object) -> None:
        if event == "call":
            codes.add(getattr(frame, "f_code"))  # noqa: B009 - a frame has no type that says so

    sys.setprofile(add_code)
    try:
        for reader in READERS:
            for content in reader.load()[:4]:
                reader.try_content(content, folder)
        for probe in PROBES:
            for answer in list_recorded(probe.id):
                try:
                    probe.extract_fact(answer)
                    probe.prune_output(answer.stdout)
                except FactUnavailable:
                    continue
    finally:
        sys.setprofile(None)
    prefix = f"{PRODUCT}/"
    return {
        f"{code.co_filename.removeprefix(prefix)}:{code.co_name}"
        for code in codes
        if code.co_filename.startswith(prefix)
    }


@pytest.mark.long
def test_no_reader_is_forgotten(tmp_path: Path) -> None:
    assert sorted(list_readers() - run_all(tmp_path)) == [], "add a row to the table of readers"


def test_no_exception_is_left_over() -> None:
    files = {str(path.relative_to(PRODUCT)): path for path in sorted(PRODUCT.rglob("*.py"))}
    readers = {reader for name, path in files.items() for reader in find_readers(name, path.read_text())}
    assert [name for name in OTHER_TESTS if not any(reader.startswith(name) for reader in readers)] == []


@pytest.mark.parametrize("call", ["load_json(text)", "prometheus.query_instant(expr)", "json.loads(line)"])
def test_readers_are_found(call: str) -> None:
    assert list(find_readers("a.py", f"def read():\n    return {call}\n")) == ["a.py:read"]
