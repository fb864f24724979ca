"""`gpustack gpu diag`, `group`, `policy`, `config`, `profiling` and `stats` as typed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask.transport.execute import run_script
from gpustack.cli import session
from gpustack.cli.gpu import changes, diag
from gpustack.cli.gpu import engines as opening
from gpustack.cli.gpu.commands import app
from gpustack.engines import call, change
from gpustack.engines import listings as listing
from gpustack.errors import GpustackError
from gpustack.probes.gpu.temporary_changes import Mark
from gpustack.report.gpus.change import ChangeDocument
from gpustack.report.gpus.diagnostic import DiagnosticDocument
from gpustack.report.gpus.engines import EnginesDocument
from gpustack.rollout import evidence
from gpustack.rollout import run as locked_run
from tests.schemas import check_shape
from tests.worlds.programs import engines
from tests.worlds.programs.engines import ACTING, ENGINES, Hosts, build_result, build_software_test, render_diagnostic
from tests.worlds.snapshots.build import TAKEN_AT, build


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hosts:
    """Two engines, and what was typed on their hosts; `held` stands where the lock was taken."""
    hosts, snapshot = Hosts(), build([ACTING], {})

    @contextmanager
    def hold_locks(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        hosts.typed_commands.append("held")
        yield SimpleNamespace(loss_reason="", holder="ann@desk")

    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: snapshot.inventory)
    monkeypatch.setattr(locked_run, "hold_locks", hold_locks)
    monkeypatch.setattr(evidence, "locate_runs", lambda: tmp_path)
    for module in (opening, changes, diag):
        monkeypatch.setattr(module, "open_engines", lambda *_, **__: (snapshot, ENGINES))
    for function in (
        call.call_each,
        call.run_command,
        listing.list_topic,
        listing.list_figures,
        change.Change.__init__,
    ):
        defaults = function.__defaults__
        assert defaults
        defaults_of_fake = tuple(hosts.execute if default is run_script else default for default in defaults)
        monkeypatch.setattr(function, "__defaults__", defaults_of_fake)
    return hosts


def run_gpu(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_a_listing_holds_no_lock(hosts: Hosts) -> None:
    hosts.answers = {"policy --get": (0, engines.POLICIES)}
    output = run_gpu("policy", "get", "-o", "json", "-q")
    document = json.loads(output.stdout)
    check_shape(EnginesDocument, output.stdout)
    assert output.exit_code == document["exit"]["code"] == 8
    assert [(row["node"], row["gpu"]) for row in document["policies"]] == [
        ("gpu1", "0"), ("gpu1", "1"), ("gpu2", "0"), ("gpu2", "1"),
    ]  # fmt: skip
    assert "held" not in hosts.typed_commands


def test_what_is_overdue_is_put_back_by_a_listing(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    late = Mark("gpu1", "profiling", TAKEN_AT - timedelta(minutes=1), "bob").text
    marked_engines = replace(ENGINES, marks={("gpu1", "profiling"): late})
    monkeypatch.setattr(opening, "open_engines", lambda *_: (build([ACTING], {}), marked_engines))
    hosts.answers = {"profile --list": (0, engines.METRICS)}
    output = run_gpu("profiling", "list", "-q", "-o", "json")
    assert hosts.typed_commands[0] == "held"
    assert "dcgmi profile --resume" in hosts.typed_commands[1]
    assert json.loads(output.stdout)["temporary_changes"] == []


def test_a_listing_has_what_is_temporary(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = Mark("gpu1", "power-limit", TAKEN_AT + timedelta(hours=2), "bob", "300", ("250",)).text
    marked_engines = replace(ENGINES, marks={("gpu1", "power-limit"): limit, ("gpu1", "policy"): "x"})
    monkeypatch.setattr(opening, "open_engines", lambda *_: (build([ACTING], {}), marked_engines))
    hosts.answers = {"config --get": (0, engines.SETTINGS)}
    output = run_gpu("config", "show", "-q", "-o", "json")
    check_shape(EnginesDocument, output.stdout)
    (row,) = json.loads(output.stdout)["temporary_changes"]
    assert (row["kind"], row["target_setting"], row["former_setting"]) == ("power-limit", "250", "300")
    assert row["overdue"] is False
    assert "power limit 250 W, temporary, until 2026-11-21 07:00 UTC" in run_gpu("config", "show", "-q").stdout
    assert "held" not in hosts.typed_commands


def test_a_change_needs_a_yes(hosts: Hosts) -> None:
    output = run_gpu("policy", "clear", "-q")
    assert isinstance(output.exception, GpustackError)
    assert output.exception.reference == "change-declined"
    assert "nvidia-dcgm-gpu1 --container nvidia-dcgm-ctr -- dcgmi policy --clear" in output.stdout
    assert hosts.typed_commands == ["held"]


@pytest.mark.parametrize(
    "words",
    [
        ("group", "create", "training", "--gpus", "0,1"),
        ("policy", "set", "--ecc", "--temperature", "85"),
        ("policy", "set", "--ecc", "--for", "2h"),
        ("config", "set", "--power-limit", "300", "--for", "2h"),
        ("config", "set", "--power-limit", "300"),
        ("policy", "clear"),
        ("profiling", "pause", "--for", "10m"),
        ("profiling", "resume"),
        ("stats", "start", "train-7", "--every", "10s"),
        ("stats", "stop", "train-7"),
    ],
)
def test_a_change_is_made_under_the_lock_and_kept(words: tuple[str, ...], hosts: Hosts, tmp_path: Path) -> None:
    settings = engines.render_setting(0) + engines.render_setting(1)
    hosts.answers = {"policy --get": (0, engines.render_policy(0)), "config --get": (0, settings)}
    output = run_gpu(*words, "--yes", "-q", "-o", "json")
    document = json.loads(output.stdout)
    check_shape(ChangeDocument, output.stdout)
    assert output.exit_code == document["exit"]["code"] == 8, "gpu4 has no engine"
    assert [(node["node"], node["outcome"]) for node in document["nodes"]] == [
        ("gpu1", "done"), ("gpu2", "done"), ("gpu4", "unknown"),
    ]  # fmt: skip
    assert hosts.typed_commands[0] == "held"
    assert bool(document["expires_at"]) == ("--for" in words)
    assert [temporary_change["node"] for temporary_change in document["temporary_changes"]] == (
        ["gpu1", "gpu2"] if "--for" in words else []
    )
    assert len(list(tmp_path.glob("*/dcgmi-*.txt"))) == 2


@pytest.mark.parametrize("words", [("--ecc",), ("--no-ecc", "--power-limit", "300"), ("--clocks", "0,0")])
def test_what_has_no_deadline_is_refused(words: tuple[str, ...], hosts: Hosts) -> None:
    output = run_gpu("config", "set", *words, "--for", "2h", "--yes", "-q")
    assert isinstance(output.exception, GpustackError)
    assert output.exception.reference == "gpu-no-deadline"
    assert run_gpu("config", "set", "--power-limit", "300", "--for", "31d", "--yes", "-q").exit_code == 2
    assert not any("dcgmi" in line for line in hosts.typed_commands)


def test_the_diagnostic_is_printed_per_test(hosts: Hosts) -> None:
    hosts.answers = {
        "diag --run": (0, render_diagnostic(build_software_test(build_result(0, "Pass"), build_result(1, "Pass"))))
    }
    output = run_gpu("diag", "--yes", "-q", "-o", "json")
    document = json.loads(output.stdout)
    check_shape(DiagnosticDocument, output.stdout)
    assert output.exit_code == 8
    assert document["unreachable_nodes"] == [{"node": "gpu4", "reason": "no DCGM host engine runs there"}]
    assert {test["outcome"] for test in document["tests"]} == {"passed"}


def test_figures_of_a_job_are_printed(hosts: Hosts) -> None:
    hosts.answers = {"stats --job": (0, engines.render_job(0))}
    assert "Still Running" in run_gpu("stats", "show", "train-7", "-q").stdout
