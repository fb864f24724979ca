"""`config validate` judges an inventory as all commands do, without asking a host."""

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.config.example import render_example
from gpustack.errors import ConfigError

runner = CliRunner()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for path, text in render_example().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_the_example_is_valid(site: Path) -> None:
    result = runner.invoke(app, ["config", "validate", "-i", str(site)])
    assert result.exit_code == 0
    assert " ".join(result.stdout.split()) == (
        f"valid: 3 hosts of inventory {site} (kube1, gpu1, gpu2) "
        "note: the addresses of kube1, gpu1, gpu2 are those of an example; no host has them"
    )


def test_scripts_get_a_document_of_what_is_valid(site: Path) -> None:
    result = runner.invoke(app, ["config", "validate", "-i", str(site), "-o", "json"])
    document = json.loads(result.stdout)
    assert (document["schema"], document["exit"]["code"]) == ("gpustack/valid-inventory/v1", result.exit_code)
    assert [host["name"] for host in document["hosts"]] == ["kube1", "gpu1", "gpu2"]
    assert [len(document["notes"]), document["inventory"]] == [1, str(site)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gpustack: {}\n# \x00\n", "gpustack.yml:2: not valid YAML (the control character U+0000)"),
        ('gpustack: "x\n', "not valid YAML (a quote that is not closed)"),
    ],
)
def test_what_yaml_does_not_allow_is_described_in_words_of_ours(site: Path, text: str, reason: str) -> None:
    (site / "group_vars/all/gpustack.yml").write_text(text)
    error = runner.invoke(app, ["config", "validate", "-i", str(site)]).exception
    assert isinstance(error, ConfigError)
    assert reason in error.reason


def test_addresses_of_hosts_are_not_noted(site: Path) -> None:
    hosts = site / "hosts.yml"
    hosts.write_text(hosts.read_text().replace("192.0.2.", "10.0.0."))
    assert "note:" not in runner.invoke(app, ["config", "validate", "-i", str(site)]).stdout


def test_all_mistakes_are_reported_and_no_host_is_asked(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site / "group_vars/all/gpustack.yml").write_text("gpustack: {gpu: {mig_strategy: no}}\ngpustak: {}\n")
    programs: list[str] = []
    start = subprocess.Popen.__init__

    def record(process: "subprocess.Popen[str]", command: tuple[str, ...], *rest: object, **options: object) -> None:
        programs.append(Path(command[0]).name)
        start(process, command, *rest, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess.Popen, "__init__", record)
    error = runner.invoke(app, ["config", "validate", "-i", str(site)]).exception
    assert isinstance(error, ConfigError)
    assert ["gpustack.gpu.mig_strategy" in error.reason, "gpustack.yml:2: gpustak" in error.reason] == [True, True]
    assert programs == ["ansible-inventory"]
