import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack_lab.lab import locks, state
from gpustack_lab.lab.state import Host, Source
from tests.unit.lab.records import record


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(locks, "MACHINE", tmp_path / "machine")
    (tmp_path / "machine").mkdir()
    return tmp_path / "machine"


@pytest.mark.parametrize("addresses", [0, 3])
@pytest.mark.parametrize("source", [None, Source("http://10.77.3.1:8480", "A" * 40)])
def test_a_record_comes_back_as_it_was(tmp_path: Path, addresses: int, source: Source | None) -> None:
    written_record = record(tmp_path, addresses=addresses, source=source)
    state.write(written_record)
    assert state.read("two") == written_record
    assert state.list_records() == [written_record]


def test_a_record_is_never_read_half_written(tmp_path: Path, machine: Path) -> None:
    state.write(record(tmp_path))
    (machine / "two.new").write_text("{")  # a process that was killed while it wrote
    assert json.loads((machine / "two.json").read_text())["name"] == "two"
    assert [listed_record.name for listed_record in state.list_records()] == ["two"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"name": "two"}', '{"name": "two", "net": "10.77.3", "hosts": "host1"}', "\x00\xff"],
)
def test_of_a_broken_record_the_name_is_known_and_any_host_may_be_there(machine: Path, text: str) -> None:
    (machine / "two.json").write_text(text, encoding="latin-1")
    (listed_record,) = state.list_records()
    assert listed_record == state.build_unknown("two")
    assert not listed_record.readable
    assert len(listed_record.hosts) == state.MOST_HOSTS
    with pytest.raises(LabError) as excinfo:
        state.read_existing("two")
    assert excinfo.value.reference == "lab-record-broken"
    assert excinfo.value.hint == "gpustack lab down --name two"


def test_a_record_of_before_snapshots_were_noted_in_it_is_read(tmp_path: Path, machine: Path) -> None:
    state.write(record(tmp_path))
    fields = json.loads((machine / "two.json").read_text())
    del fields["restoring"]
    (machine / "two.json").write_text(json.dumps(fields))
    assert state.read("two") == record(tmp_path)


def test_a_record_carries_gpus_and_one_of_before_there_were_any_is_read(tmp_path: Path, machine: Path) -> None:
    fitted_record = replace(record(tmp_path), hosts=(Host("host1", "debian-12", "10.77.3.11", 2, "H100"),))
    state.write(fitted_record)
    assert state.read("two") == fitted_record
    state.write(record(tmp_path))
    fields = json.loads((machine / "two.json").read_text())
    fields["hosts"] = [{key: host[key] for key in ("name", "os", "address")} for host in fields["hosts"]]
    (machine / "two.json").write_text(json.dumps(fields))
    assert state.read("two") == record(tmp_path)


def test_a_record_outlives_a_boot_of_the_machine(machine: Path) -> None:
    written_record = replace(record(state.locate_state("two")), stopped=True, bundle="/srv/bundle")
    state.write(written_record)
    (machine / "two.json").unlink()
    assert state.read("two") == written_record
    assert state.list_records() == [written_record]


def test_a_stopped_lab_is_no_running_one(tmp_path: Path) -> None:
    state.write(replace(record(tmp_path), stopped=True))
    assert state.read_existing("two").stopped
    with pytest.raises(LabError) as excinfo:
        state.read_running("two")
    assert (excinfo.value.reference, excinfo.value.hint) == ("lab-stopped", "gpustack lab start --name two")


def test_a_record_is_forgotten(tmp_path: Path, machine: Path) -> None:
    state.write(record(tmp_path))
    (machine / "two.new").write_text("{")
    state.forget("two")
    state.forget("two")
    assert state.read("two") is None
    assert list(machine.iterdir()) == []


def test_two_checkouts_have_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    for place in ("/home/a/gpustack/gpustack/__init__.py", "/home/b/gpustack/gpustack/__init__.py"):
        monkeypatch.setattr("gpustack.__file__", place)
        names.add(state.compute_default_name())
    assert len(names) == 2


def test_an_unknown_host_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no host 'host9'") as excinfo:
        record(tmp_path).select_host("host9")
    assert excinfo.value.reason == "It has host1, host2."
