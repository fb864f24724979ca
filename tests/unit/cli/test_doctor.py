"""`doctor`: from hosts and from a recording, in each form, with its exit status."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpustack.ask.recording import write_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.errors import UsageError
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.answers import read_case

runner = CliRunner()
FORWARDING_OFF = read_case("kernel.sysctls", "prepared-debian-12", ("net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"))


@pytest.fixture
def broken_snapshot() -> Snapshot:
    return hosts.build_snapshot({("kernel.sysctls", "h1"): FORWARDING_OFF})


@pytest.fixture
def recording(broken_snapshot: Snapshot, tmp_path: Path) -> str:
    write_recording(broken_snapshot, tmp_path / "s.jsonl")
    return str(tmp_path / "s.jsonl")


def list_roots(text: str) -> list[tuple[str, list[str]]]:
    return [(root["id"], root["locations"]) for root in json.loads(text)["roots"]]


def test_a_recording_is_diagnosed(recording: str) -> None:
    result = runner.invoke(app, ["doctor", "--quiet", "--from", recording])
    assert result.exit_code == 1
    assert "ROOT CAUSE  host-ip-forward-off  on h1" in result.stdout


@pytest.mark.parametrize("command", ["doctor", "plan", "verify", "snapshot"])
def test_a_recording_beside_an_inventory_is_refused(command: str, recording: str) -> None:
    error = runner.invoke(app, [command, "-q", "--from", recording, "-i", "site"]).exception
    assert isinstance(error, UsageError)
    assert (error.reference, error.code) == ("inventory-of-recording", 2)


def test_hosts_give_the_same_verdict_as_their_recording(
    broken_snapshot: Snapshot, recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpustack.ask import gather

    questions: list[Any] = []

    def gather_broken(inventory: Any, probes: Any, **_: Any) -> Snapshot:
        questions.extend(probes)
        return broken_snapshot

    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: broken_snapshot.inventory)
    monkeypatch.setattr(gather, "gather", gather_broken)
    live = runner.invoke(app, ["doctor", "--quiet", "-o", "json"])
    result = runner.invoke(app, ["doctor", "--quiet", "-o", "json", "--from", recording])
    assert list_roots(live.stdout) == list_roots(result.stdout) == [("host-ip-forward-off", ["h1"])]
    assert {"kernel.sysctls", "service-monitors.objects"} <= {probe.id for probe in questions}


def test_junit_is_printed_with_the_exit_status(recording: str) -> None:
    result = runner.invoke(app, ["doctor", "--quiet", "-o", "junit", "--from", recording])
    assert result.stdout.startswith("<?xml")
    assert result.exit_code == 1


def test_html_is_printed_with_the_exit_status(recording: str) -> None:
    result = runner.invoke(app, ["doctor", "--quiet", "-o", "html", "--from", recording])
    assert result.stdout.startswith("<!DOCTYPE html>")
    assert 'id="root-host-ip-forward-off"' in result.stdout
    assert result.exit_code == 1


def test_what_is_explained_has_an_address() -> None:
    assert runner.invoke(app, ["explain", "host-ip-forward-off"]).stdout.startswith("host-ip-forward-off: ")
    assert runner.invoke(app, ["explain", "st-node-notready"]).stdout.startswith("st-node-notready: ")
    page = runner.invoke(app, ["explain", "host-ssh-unreachable"]).stdout
    assert page.count("host-ssh-unreachable: ") == 2
