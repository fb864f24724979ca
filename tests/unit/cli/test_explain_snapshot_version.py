"""`explain`, `snapshot` and `version`."""

import json
import re
from pathlib import Path
from types import MappingProxyType

import pytest
from typer.testing import CliRunner

from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Reach, Snapshot, index_answers
from gpustack.cli import rounds, session
from gpustack.cli.app import app
from gpustack.doctor.diagnose import diagnose
from gpustack.errors import UsageError
from tests.worlds.results.plans import TAKEN_AT, make_converged_plan

runner = CliRunner()


@pytest.fixture
def plan_snapshot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Snapshot:
    """Hosts answer what they answered in an invented plan."""
    snapshot = make_converged_plan().snapshot
    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: snapshot.inventory)
    monkeypatch.setattr(rounds, "diagnose_hosts", lambda *_: diagnose(snapshot))
    monkeypatch.chdir(tmp_path)
    return snapshot


def test_explain_lists_or_tells() -> None:
    assert "containerd/version" in runner.invoke(app, ["explain"]).stdout
    assert runner.invoke(app, ["explain", "containerd"]).stdout.startswith("containerd\n")
    assert runner.invoke(app, ["explain", "host-key-unknown"]).stdout.startswith("host-key-unknown: ")


def test_explain_refuses_what_is_unknown() -> None:
    result = runner.invoke(app, ["explain", "host-key-unknwn"])
    assert isinstance(result.exception, UsageError)
    assert result.exception.hint == "gpustack explain host-key-unknown"


def test_snapshot_writes_a_recording_that_is_read_again(plan_snapshot: Snapshot, tmp_path: Path) -> None:
    result = runner.invoke(app, ["snapshot", "--quiet", "--out", "s.jsonl"])
    assert (result.exit_code, result.stdout) == (0, "s.jsonl\n")
    assert dict(read_recording(tmp_path / "s.jsonl").answers) == dict(plan_snapshot.answers)


def test_snapshot_names_its_file_itself_or_writes_to_stdout(plan_snapshot: Snapshot, tmp_path: Path) -> None:
    name = runner.invoke(app, ["snapshot", "--quiet"]).stdout.strip()
    assert name == f"gpustack-{TAKEN_AT:%Y%m%dT%H%M%S}.jsonl"
    assert (tmp_path / name).read_text() == runner.invoke(app, ["snapshot", "--quiet", "--out", "-"]).stdout


def test_list_shows_what_is_inside_and_writes_nothing(plan_snapshot: Snapshot, tmp_path: Path) -> None:
    lines = runner.invoke(app, ["snapshot", "--quiet", "--list"]).stdout.splitlines()
    assert {probe for probe, _ in plan_snapshot.answers} <= {word for line in lines[:-2] for word in line.split()}
    assert len(lines) == len(plan_snapshot.answers) + 3
    assert lines[-1].startswith(f"{len(plan_snapshot.answers)} answers of 2 hosts, ")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_listed_and_redacted(plan_snapshot: Snapshot, tmp_path: Path) -> None:
    runner.invoke(app, ["snapshot", "--quiet", "--out", "s.jsonl"])
    listing = runner.invoke(app, ["snapshot", "--quiet", "--list", "--from", "s.jsonl"])
    assert "kube1" in listing.stdout
    words = ["snapshot", "--quiet", "--from", "s.jsonl", "--redact", "addresses", "--out", "t.jsonl"]
    result = runner.invoke(app, words)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "t.jsonl\n", "")
    assert [host.name for host in read_recording(tmp_path / "t.jsonl").inventory.hosts] == ["host01", "host02"]
    assert "kube1" not in (tmp_path / "t.jsonl").read_text()


def test_a_list_has_no_secret_and_no_escape(plan_snapshot: Snapshot) -> None:
    from dataclasses import replace

    from gpustack.report import snapshot_listing as inside

    answers = {
        key: replace(answer, stdout="\x1b]0;x\x07password: hunter2hunter2\n" * 9)
        for key, answer in plan_snapshot.answers.items()
    }
    text = inside.render_listing(replace(plan_snapshot, answers=answers))
    assert ("hunter2" in text, "\x1b" in text, "REDACTED" in text) == (False, False, True)


def test_a_recording_can_be_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording without any answer tells nothing: that is neither 0 nor 1."""
    snapshot = make_converged_plan().snapshot
    empty_snapshot = Snapshot(
        TAKEN_AT, snapshot.inventory, MappingProxyType({"kube1": Reach("kube1")}), index_answers([])
    )
    monkeypatch.chdir(tmp_path)
    from gpustack.ask.recording import write_recording

    write_recording(empty_snapshot, tmp_path / "s.jsonl")
    result = runner.invoke(app, ["verify", "--quiet", "--from", "s.jsonl", "-o", "json"])
    assert (result.exit_code, json.loads(result.stdout)["exit"]["code"]) == (8, 8)


def test_version_names_gpustack_and_kubernetes() -> None:
    output = runner.invoke(app, ["version"]).stdout
    assert re.match(r"gpustack \d+\.\d+\.\d+\n", output)
    assert re.search(r"(?m)^version set \d{4}-\d{2}: kubernetes 1\.", output)
    assert re.search(r"(?m)^Python 3\.\d+\.\S+, ansible-core 2\.\d+\.\S+$", output)
    assert runner.invoke(app, ["--version"]).stdout == output


def test_version_tells_programs_what_it_tells_people() -> None:
    document = json.loads(runner.invoke(app, ["version", "-o", "json"]).stdout)
    versions = {component["name"]: component["version"] for component in document["components"]}
    for line in (
        f"gpustack {document['gpustack_version']}",
        f"version set {document['version_set']}: kubernetes {versions['kubernetes']}, ",
        f"Python {document['python_version']}, ansible-core {document['ansible_core_version']}",
    ):
        assert line in runner.invoke(app, ["version"]).stdout
